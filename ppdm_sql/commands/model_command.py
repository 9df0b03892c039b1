"""ppdm model: trees, naive Bayes and rules learned in the database, kept there by name.

model_work.py   what is done with rows: train, predict, install
model_audit.py  whom a model would single out: audit
model_kept.py   what is done with a kept model: show, export, import, list, drop
"""

from __future__ import annotations

import click

from ppdm_sql.commands.model_audit import audit
from ppdm_sql.commands.model_manage import drop, export, import_file, list_models, show_model
from ppdm_sql.commands.model_train import install, predict, train


@click.group("model")
def command() -> None:
    """Models: trees, naive Bayes and conjunctive rules, learned in the database from counts.

    \b
    $ ppdm --db clinic.duckdb model train readmission --from patients --target readmitted
    $ ppdm --db clinic.duckdb model show readmission
    $ ppdm --db clinic.duckdb model predict readmission --from new_patients --into predictions
    """


for _one in (train, predict, install, audit, show_model, export, import_file, list_models, drop):
    command.add_command(_one)
