"""Publish tables and models with a privacy guarantee that the database itself has measured."""

__version__ = "0.1.0"
