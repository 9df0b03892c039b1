"""Makes the files of a folder below tests/kept/: a catalog with a release of every kind, and what was exported of it.

python tests/kept/make.py FOLDER      with the code of the version that the folder is to stand for

It is run once per version whose files are kept, and never again for a folder that is there.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import ppdm_sql

TABLES = """
CREATE TABLE patients AS SELECT range AS id, 20 + range * 7 % 60 AS age, 1000 + range * 13 % 90 AS zip,
    CASE WHEN range % 9 = 4 THEN NULL ELSE ['flu', 'cold', 'ulcer', 'gout'][range % 4 + 1] END AS ill FROM range(160);
CREATE TABLE ill_groups AS SELECT * FROM (VALUES ('flu', 'airways', '*'), ('cold', 'airways', '*'),
    ('ulcer', 'stomach', '*'), ('gout', 'joints', '*')) AS v(ill, part, everything);
CREATE TABLE visits AS SELECT range AS visit, 'p' || range % 50 AS person, 20 + range * 7 % 50 % 40 AS age,
    'ward ' || range * 3 % 5 AS ward, ['flu', 'cold', 'ulcer'][range % 3 + 1] AS ill FROM range(150);
CREATE TABLE beds AS SELECT 'b' || range AS id, 20 + range * 7 % 40 AS age,
    ['north', 'south', 'east', 'west'][range * 13 // 7 % 4 + 1] AS ward, (range % 9 * 100)::DECIMAL(8, 2) AS pay,
    ['flu', 'cold', 'ulcer'][range % 3 + 1] AS ill,
    CASE WHEN 20 + range * 7 % 40 > 35 THEN 'yes' ELSE 'no' END AS back FROM range(120);
CREATE TABLE loans AS SELECT 'l' || range AS id, 25 + range * 11 % 50 AS age, ['single', 'married'][range % 2 + 1] AS marital,
    (range * 37 % 90)::INTEGER AS debt, CASE WHEN range * 37 % 90 > 45 THEN 'high' ELSE 'low' END AS risk
    FROM range(200);
CREATE TABLE staff AS SELECT 's' || range AS id, 20 + range % 40 AS age, 'dept ' || range % 4 AS dept, 'site ' || range % 3
    AS site FROM range(80);
"""
RELEASES = """
CREATE TABLE patients_open AS SELECT id, age, zip, ill FROM patients WITH ANONYMIZATION (ALGORITHM mondrian
    REQUIRE k = 5, distinct_l = 2, t = 0.9 hierarchical IDENTIFIER (id) QUASI IDENTIFIER (age, zip)
    SENSITIVE (ill HIERARCHY ill_groups NULLS AS VALUE));
CREATE TABLE ages_open AS SELECT id, age FROM patients WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 3
    IDENTIFIER (id) QUASI IDENTIFIER (age) ACCEPT RISK (joint));
CREATE VIEW visits_open AS SELECT visit, person, age, ward, ill FROM visits WITH ANONYMIZATION (ALGORITHM mondrian
    REQUIRE k = 4, simple_l = 1.2 IDENTIFIER (visit) ENTITY (person) QUASI IDENTIFIER (age, ward) SENSITIVE (ill));
CREATE VIEW beds_live LIVE AS SELECT id, age, ward, pay, ill, back FROM beds WITH ANONYMIZATION (ALGORITHM tpp
    REQUIRE k = 5, simple_l = 1.2 IDENTIFIER (id) QUASI IDENTIFIER (age, ward, pay) SENSITIVE (ill) TARGET (back)
    PRESERVE (cart (min_leaf = 5, max_leaves = 4)) ACCEPT RISK (live, boundaries));
CREATE MODEL loans_model AS SELECT id, age, marital, debt, risk FROM loans WITH ANONYMIZATION (ALGORITHM kadet
    REQUIRE k = 10 IDENTIFIER (id) QUASI IDENTIFIER (age, marital) INSENSITIVE (debt) SENSITIVE (risk) TARGET (risk));
CREATE TABLE loans_pseudo AS PSEUDO DATA FROM MODEL loans_model WITH (rows = 60, seed = 3);
CREATE TABLE staff_first AS SELECT id, age, dept FROM staff WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5
    IDENTIFIER (id) QUASI IDENTIFIER (age, dept));
CREATE TABLE staff_open AS SELECT id, age, site FROM staff WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5
    IDENTIFIER (id) QUASI IDENTIFIER (age, site) SUPERSEDES);
REFRESH staff_open;
VERIFY patients_open;
"""
EXPORTS = {
    "patients_open": ("patients.csv", "patients.duckdb"),
    "visits_open": ("visits.csv",),
    "beds_live": ("beds.csv",),
    "loans_model": ("loans.json",),
    "loans_pseudo": ("pseudo.csv",),
}


def make(folder: Path) -> None:
    folder.mkdir(parents=True)
    database = folder / "catalog.duckdb"
    with ppdm_sql.connect(str(database), create=True, out=folder) as db:
        db.execute(TABLES)
        db.execute(RELEASES)
        for name, files in EXPORTS.items():
            for file in files:
                db.export(name, file)
        db.train("loans_tree", "SELECT age, marital, debt, risk FROM loans", target="risk")
        db.train("loans_bayes", "SELECT age, marital, debt, risk FROM loans", target="risk", inducer="naive_bayes")
        db.evaluate(RELEASES.split(";")[0], grid=["k=5,10"], learner="none")
    for file in folder.glob("*.duckdb"):
        with gzip.GzipFile(f"{file}.gz", "wb", mtime=0) as packed:
            packed.write(file.read_bytes())
        file.unlink()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
