"""Rows made from a published model: they describe nobody."""
