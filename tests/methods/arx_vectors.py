"""What ARX finds on the Adult table, and how to ask incognito the same.

30,162 training rows without a missing value, and the hierarchies that come with ARX's examples (Apache-2.0): age, education,
marital_status, native_country, occupation, race, sex, workclass.  With a requirement on sensitive values, occupation is
sensitive and the other seven are quasi-identifiers.  Figures are those of ARX at commit aacd487.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from pyarrow import csv

from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.methods.base import CellJob
from ppdm_sql.policy.policy import HierarchyFile, Policy, Roles
from ppdm_sql.requirements import Closeness, DistinctDiversity, EntropyDiversity, KAnonymity
from ppdm_sql.source.hierarchy import load_hierarchy
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Name, Word

QUASI = ("sex", "age", "race", "marital_status", "education", "native_country", "workclass", "occupation")
MORE = {
    "distinct_l=3": DistinctDiversity(3),
    "entropy_l=4": EntropyDiversity(Fraction(4)),
    "t=0.2 equal": Closeness(Fraction(1, 5), "equal"),
}
# (requirement, share of rows that may be left out, quality, rows left out, value)
VECTORS = (
    ("k=2", "0.01", "discernibility", 25, 4807825.0),
    ("k=2", "1.0", "discernibility", 25, 4807825.0),
    ("k=5", "0.04", "discernibility", 105, 7220555.0),
    ("k=10", "0.0", "discernibility", 0, 55170356.0),
    ("k=10", "0.2", "discernibility", 121, 10541769.0),
    ("k=50", "0.01", "discernibility", 169, 38720731.0),
    ("k=50", "1.0", "discernibility", 330, 29880636.0),
    ("k=100", "0.04", "discernibility", 618, 38545780.0),
    ("k=2", "0.0", "average_class", 0, 317.4947368),
    ("k=2", "0.2", "average_class", 4735, 6.568379791),
    ("k=5", "0.01", "average_class", 301, 68.55),
    ("k=5", "1.0", "average_class", 7185, 16.32142857),
    ("k=10", "0.04", "average_class", 1043, 55.14076782),
    ("k=50", "0.0", "average_class", 0, 2010.8),
    ("k=50", "0.2", "average_class", 3172, 127.8050847),
    ("k=100", "0.01", "average_class", 300, 914.0),
    ("k=100", "1.0", "average_class", 9938, 209.4583333),
    ("k=2", "0.04", "loss", 1045, 0.1829430231),
    ("k=5", "0.0", "loss", 0, 0.6608417112),
    ("k=5", "0.2", "loss", 3049, 0.2270624335),
    ("k=10", "0.01", "loss", 297, 0.4741078335),
    ("k=10", "1.0", "loss", 3330, 0.2668766807),
    ("k=50", "0.04", "loss", 978, 0.5075172984),
    ("k=100", "0.0", "loss", 0, 0.7149868275),
    ("k=100", "0.2", "loss", 5537, 0.4162046796),
    ("k=5 distinct_l=3", "0.0", "discernibility", 0, 55170356.0),
    ("k=5 entropy_l=4", "0.0", "discernibility", 0, 55170356.0),
    ("k=5 t=0.2 equal", "0.0", "discernibility", 0, 456853172.0),
    ("k=5 distinct_l=3", "0.0", "loss", 0, 0.6333087044),
    ("k=5 entropy_l=4", "0.0", "loss", 0, 0.6333087044),
    ("k=5 t=0.2 equal", "0.0", "loss", 0, 0.9190229901),
    ("k=5 distinct_l=3", "0.04", "discernibility", 85, 9800845.0),
    ("k=5 entropy_l=4", "0.04", "discernibility", 43, 12673913.0),
    ("k=5 t=0.2 equal", "0.04", "discernibility", 848, 336773094.0),
    ("k=5 distinct_l=3", "0.04", "loss", 1071, 0.1897670539),
    ("k=5 entropy_l=4", "0.04", "loss", 1174, 0.3035024868),
    ("k=5 t=0.2 equal", "0.04", "loss", 235, 0.8167936397),
)


class ArxJobs:
    """The cells of the table and its hierarchies, made once for all vectors."""

    def __init__(self, engine, data: Path, hierarchies: Path) -> None:
        self.engine, self.table = engine, Name("adult")
        rows = csv.read_csv(
            data / "adult_train.csv", convert_options=csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
        )
        rows = rows.select([*QUASI, "income"]).drop_null()
        engine.load(self.table, rows)
        self.infos = engine.columns(self.table)
        self.hierarchies = {}
        for info in self.infos:
            if info.name in QUASI:
                values = rows[info.name].unique().to_pylist()
                self.hierarchies[info.name] = load_hierarchy(
                    HierarchyFile(f"{info.name}.csv"),
                    column=info.name,
                    kind=info.kind,
                    values=values,
                    engine=engine,
                    folder=hierarchies,
                )

    def job(self, requirement: str, limit: str, **options) -> CellJob:
        size, _, more = requirement.partition(" ")
        required = (KAnonymity(int(size.removeprefix("k="))), *((MORE[more],) if more else ()))
        quasi = QUASI[:-1] if more else QUASI
        target = options.pop("target", None)
        passed = [
            name
            for name in ("occupation", "income")
            if name not in quasi and not (name == "occupation" and more) and name != target
        ]
        roles = Roles(
            quasi=tuple(map(Word, quasi)),
            sensitive=(Word("occupation"),) if more else (),
            insensitive=tuple(map(Word, passed)),
            target=None if target is None else Word(target),
        )
        policy = Policy("incognito", required, roles, options=options, suppress=Fraction(limit))
        source = resolve(self.table, self.infos, policy, ("adult",))
        mine = {name: tree for name, tree in self.hierarchies.items() if name in quasi}
        plain = CellJob(None, source, policy, mine)
        return CellJob(aggregate(self.engine, source, plain.cell_columns), source, policy, mine)
