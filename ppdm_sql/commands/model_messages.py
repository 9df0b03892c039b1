"""What the commands of ppdm model print about a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ppdm_sql.models.library import Model


def model_json(found: Model) -> dict[str, Any]:
    record = found.record
    return {
        "model": record.name,
        "kind": record.kind,
        "inducer": record.inducer,
        "target": record.target_name,
        "options": record.options,
        **found.kind.figures(found.learned),
        "rows": record.rows,
        "left_out": record.left_out,
        "rare": record.rare,
        "warning": found.warning,
    }


def say(text: str) -> None:
    from ppdm_sql.commands import show

    show.console.print(text, markup=False)


def warn(found: Model) -> None:
    click.echo(f"warning: {found.warning}", err=True)
