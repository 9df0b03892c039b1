"""Functions whose value for the same row changes from one statement to the next."""

from __future__ import annotations

# Chance, the clock and the session, as the engines call them; some engines know of more.
UNSTEADY = frozenset(
    [
        "rand",
        "random",
        "randn",
        "uuid",
        "uuidv4",
        "uuidv7",
        "gen_random_uuid",
        "nextval",
        "currval",
        "lastval",
        "clock_timestamp",
        "timeofday",
        "now",
        "today",
        "current_timestamp",
        "current_date",
        "current_time",
        "localtime",
        "localtimestamp",
        "statement_timestamp",
        "transaction_timestamp",
        "txid_current",
        "current_setting",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "shuffle",
    ]
)
