"""Reports of releases whose every text is plain, and of the same releases whose every text is an attack."""

from __future__ import annotations

import duckdb

from ppdm_sql.catalog import evaluations
from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.report.audience import READERS
from ppdm_sql.session import connect
from ppdm_sql.statements.names import Name

# One text in place of each plain one.  The plain page must have the same tags in the same order.
HOSTILE = {
    "release": '"><script>alert(1)</script>',
    "age": "</style><script>alert(2)</script>",
    "sex": "' onmouseover='alert(3)",
    "zip": "javascript:alert(4)",
    "illness": "ill\u202eness\u2066<b>\u200f",
    "north": "]]></title></svg><img src=x onerror=alert(5)>",
    "south": "{{ 7 * 7 }}{% raw %}&lt;&amp;",
    "flu": "</pre></details><svg onload=alert(6)>",
    "comment": "</pre></code><script>alert(7)</script> \u202e \x07",
    "learner": "<iframe src=javascript:alert(8)>",
}
PLAIN = {key: key for key in HOSTILE}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def written(words: dict[str, str], folder) -> dict[tuple[str, str], str]:
    """The reports of a table and of a model whose every text is one of these words."""
    folder.mkdir()
    con = duckdb.connect()
    age, sex, zip_, ill = (quoted(words[name]) for name in ("age", "sex", "zip", "illness"))
    con.execute(
        f"CREATE TABLE source AS SELECT range AS id, 20 + range % 40 AS {age}, "
        f"CASE WHEN range % 3 = 0 THEN {literal(words['north'])} ELSE {literal(words['south'])} END AS {sex}, "
        f"range % 5 || 'x' AS {zip_}, "
        f"CASE WHEN range % 40 < 20 THEN {literal(words['flu'])} ELSE 'cold' END AS {ill} FROM range(200)"
    )
    con.execute("CREATE TABLE levels AS SELECT * FROM (VALUES (?, ?, '*'), (?, ?, '*')) AS v(leaf, up, top)",
                [words["north"], words["flu"], words["south"], words["flu"]])  # fmt: skip
    found = {}
    roles = f"IDENTIFIER (id) QUASI IDENTIFIER ({age}, {sex} HIERARCHY levels, {zip_}) SENSITIVE ({ill})"
    query = f"SELECT id, {age}, {sex}, {zip_}, {ill} FROM source /* {words['comment']} */"
    with connect(con, out=folder) as session:
        session.publish(f"CREATE TABLE {quoted(words['release'])} AS {query} WITH ANONYMIZATION (ALGORITHM mondrian "
                        f"REQUIRE k = 5, distinct_l = 2 {roles})")  # fmt: skip
        _tried(session.engine, words)
        _report(session, words["release"], "table", found)
        model = quoted(words["release"] + "_model")
        session.publish(f"CREATE MODEL {model} AS {query} WITH ANONYMIZATION (ALGORITHM kadet REQUIRE k = 5 "
                        f"{roles} TARGET ({ill}) ACCEPT RISK (joint))")  # fmt: skip
        _report(session, words["release"] + "_model", "model", found, "internal")
        session.execute(f"CREATE TABLE pseudo AS PSEUDO DATA FROM MODEL {model} WITH (rows = 20)")
        _report(session, "pseudo", "pseudo", found, "public")
        session.execute(f"DELETE FROM {quoted(words['release'])}")
        _report(session, words["release"], "gone", found, "internal")
    return found


def _tried(engine, words):
    head = Evaluation(
        "f", None, words["release"], words["comment"], ("m",), {}, words["flu"], words["learner"], 1, 2, 9
    )
    evaluations.start(engine, head)
    for position, k in enumerate((2, 5)):
        point = EvaluationPoint(position, "measured", words["north"], (f"k = {k}",), 0.1, k=k, accuracy=0.5 + k / 100)
        evaluations.add_point(engine, head.evaluation_id, point)
    refused = EvaluationPoint(9, "refused", words["south"], (words["age"],), 0.1, reason=words["sex"])
    evaluations.add_point(engine, head.evaluation_id, refused)


def _report(session, name, kind, found, *asked):
    for readers in asked or READERS:
        done = session.report(Name(name), f"{kind}-{readers}.html", readers=readers)
        with open(done.path, encoding="utf-8") as file:
            found[kind, readers] = file.read()
