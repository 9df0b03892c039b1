"""Texts of others on a page of ours: escaped, hidden characters shown, and directions kept where they belong."""

from __future__ import annotations

from markupsafe import Markup, escape

from ppdm_sql.release.notebook_html import visible_lines


def escape_value(value: object) -> object:
    """What the template does to everything it prints; what is markup already was made by us."""
    return value if isinstance(value, Markup) else escape(visible_lines(str(value)))
