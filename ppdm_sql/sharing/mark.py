"""The mark of pseudo-rows, which models and releases look for, too (catalog/mark.py)."""

from ppdm_sql.catalog.mark import MARK, is_pseudo

__all__ = ["MARK", "is_pseudo"]
