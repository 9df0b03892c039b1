"""The rows that the chain of the ledger covers, as messages call them."""

from __future__ import annotations


def row_name(key: str) -> str:
    """A row as people call it.

    >>> row_name("release_event exported 0f"), row_name("release_source clinic.patients"), row_name("release")
    ('its event "exported"', 'its source "clinic.patients"', 'its record')
    """
    table, _, rest = key.partition(" ")
    match table:
        case "release_event":
            return f'its event "{rest.partition(" ")[0]}"'
        case "release_source":
            return f'its source "{rest}"'
        case "release_reader":
            return f'its reader "{rest}"'
        case "release_check":
            return "a measurement of it"
        case _:
            return "its record"
