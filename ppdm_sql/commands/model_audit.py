"""ppdm model audit: the groups that an attacker can form with models among the people of a table."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from ppdm_sql.commands.model_messages import say
from ppdm_sql.commands.options import COMMAS, GlobalOptions, json_option, listed_columns, pass_options
from ppdm_sql.policy.words import many

if TYPE_CHECKING:
    from ppdm_sql.trees.audit import Audit
    from ppdm_sql.trees.audit_groups import Group

_MOST_CLASSES = 4  # of a group in a line, before the others are only counted


def _number_of_groups(_: click.Context, __: click.Parameter, given: str) -> int | None:
    if given.casefold() == "all":
        return None
    if not given.isascii() or not given.isdigit():
        raise click.BadParameter("a whole number, or all")
    return int(given)


@click.command("audit")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The table of the people the model is about."
)
@click.option("--public", metavar="COLUMNS", help=f"Columns an attacker knows, {COMMAS} [all that the model uses].")
@click.option("--class-is-public", is_flag=True, help="The attacker also knows the target.")
@click.option(
    "--entity", metavar="COLUMN", help="The column that identifies the person; k then counts people, not rows."
)
@click.option("--k", type=click.IntRange(min=2), help="Fail (exit 1) if a group is smaller than this.")
@click.option(
    "--groups", "most", default="20", show_default=True, metavar="N|all", callback=_number_of_groups,
    help="How many groups to list, smallest first; --json lists all.",
)  # fmt: skip
@json_option
@pass_options
def audit(
    options: GlobalOptions,
    names: tuple[str, ...],
    source: str,
    public: str | None,
    class_is_public: bool,
    entity: str | None,
    k: int | None,
    most: int | None,
    as_json: bool,
) -> int:
    """Show whom a model singles out.

    The groups are those that an attacker with the model and the public columns can form.

    The size of a leaf is not enough: a private test sends a person down every branch.  Only trees can be audited.
    For several models, the groups are those of an attacker who has them all.

    \b
    $ ppdm --db clinic.duckdb model audit readmission --from patients --public age,sex,zip --k 10
    $ ppdm --db clinic.duckdb model audit readmission stay --from patients --public age,sex,zip
    """
    from ppdm_sql.commands import show

    known = listed_columns(public) if public is not None else None
    with options.session() as session:
        found = session.audit(
            list(names), source, public=known, class_is_public=class_is_public, entity=entity, k=k,
            groups=None if as_json else most,
        )  # fmt: skip
    if as_json:
        show.print_json(_as_json(names, found, by_person=entity is not None))
    else:
        _print(names, found, k, by_person=entity is not None)
    return 0 if k is None or found.k >= k else 1


def _as_json(names: tuple[str, ...], found: Audit, *, by_person: bool) -> dict[str, Any]:
    plain = {key: value for key, value in vars(found).items() if key not in ("confidence", "groups")}
    plain |= {"public": list(found.public), "not_asked": list(found.not_asked)}
    groups = [_group_json(group, by_person=by_person) for group in found.groups]
    named = {"model": names[0]} if len(names) == 1 else {"models": list(names)}
    return {**named, **plain, "confidence": float(found.confidence), "groups": groups}


def _group_json(group: Group, *, by_person: bool) -> dict[str, Any]:
    classes = [
        {"class": str(value) if isinstance(value, Decimal) else value, "rows": rows} for value, rows in group.classes
    ]
    return {
        "conditions": list(group.conditions),
        "rows": group.rows,
        **({"persons": group.size} if by_person else {}),
        "classes": classes,
        "rows_of_other_classes": group.other_rows,
        "confidence": float(group.confidence),
        "entropy_bits": group.entropy_bits,
    }


def _print(names: tuple[str, ...], found: Audit, k: int | None, *, by_person: bool) -> None:
    from ppdm_sql.commands import show

    who = " and ".join(names)
    say(f"{who}: {many(found.rows, 'row')} in {many(found.spans, 'group')}; the smallest has k = {found.k:,}")
    if k is not None:
        say(f"groups of fewer than {k}: {found.below:,} ({many(found.rows_below or 0, 'row')})")
    surest = f"no class is certain: confidence is at most {100 * float(found.confidence):.1f} %"
    say(f"rows whose class is certain: {found.exposed_rows:,}" if found.exposed_rows else surest)
    if found.not_asked:
        columns = ", ".join(f'"{name}"' for name in found.not_asked)
        say(f"column {columns}: the model does not use it, so knowing it separates no one")
    if not found.groups:
        return
    if len(found.groups) < found.spans:
        say(f"the {len(found.groups):,} smallest of {found.spans:,} groups (--groups all lists all):")
    heads = ("group", "rows", *(("persons",) if by_person else ()), "classes", "surest", "entropy (bits)")
    show.rows(heads, [_line(group, k, by_person=by_person) for group in found.groups])


def _line(group: Group, k: int | None, *, by_person: bool) -> tuple[str, ...]:
    from ppdm_sql.trees.show import percent

    size = f"{group.size:,}" + (f" < {k}" if k is not None and group.size < k else "")
    sizes = (f"{group.rows:,}", size) if by_person else (size,)
    return (group.words, *sizes, _classes(group), percent(float(group.confidence)), f"{group.entropy_bits:.3f}")


def _classes(group: Group) -> str:
    from ppdm_sql.trees.show import value_text

    told = [f"{rows:,} {value_text(value)}" for value, rows in group.classes[:_MOST_CLASSES]]
    others = sum(rows for _, rows in group.classes[_MOST_CLASSES:]) + group.other_rows
    return ", ".join([*told, f"{others:,} of other classes"] if others else told)
