"""The page: one file that needs nothing but itself.

It holds no script at all and forbids every other source by its Content-Security-Policy; the only style is the one whose
hash the policy names.  Everything printed by the template is escaped, with hidden characters visible (escape_value).
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from ppdm_sql.report.audience import Audience
from ppdm_sql.report.elements import Page, pair_sections
from ppdm_sql.report.escape import escape_value
from ppdm_sql.report.facts import Facts
from ppdm_sql.report.sections import class_sizes, cost, guarantees, overview


def page_of(facts: Facts, audience: Audience) -> Page:
    """What the page says to these readers; what they may not know is not in it at all."""
    sections = (
        guarantees.guarantees(facts, audience),
        class_sizes.class_sizes(facts, audience),
        class_sizes.chances(facts, audience),
        cost.column_loss(facts, audience),
        cost.trade_off(facts, audience),
        overview.tree(facts, audience),
        overview.not_promised(facts, audience),
        overview.columns(facts, audience),
        overview.statement(facts, audience),
        overview.certificate(facts, audience),
    )
    return Page(
        name=facts.verified.name,
        kind=overview.kind_text(facts),
        audience=audience.name,
        holds=facts.verified.holds,
        verdict=overview.verdict(facts),
        problems=overview.problems(facts, audience),
        lines=overview.lines(facts, audience),
        tiles=overview.tiles(facts, audience),
        sections=pair_sections([section for section in sections if section is not None], _HALVES),
        note=f"Counts below {audience.k} are given as “fewer than {audience.k}”." if audience.public else "",
    )


_HALVES = ("sizes", "risk", "loss", "evaluation")


def render_page(page: Page) -> str:
    """The page as HTML."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return _template().render(page=page, style=Markup(style), policy=policy, generator=page.generator)  # noqa: S704 - ours


@cache
def _style() -> str:
    return files("ppdm_sql.report").joinpath("style.css").read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, finalize=escape_value, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(files("ppdm_sql.report").joinpath("page.html.j2").read_text(encoding="utf-8"))
