"""Trees and naive Bayes against their peers.  Every case starts from the table in DuckDB; the pull is part of it.

Peers read a table with ENUM types that is ready for them, because that is the kindest way out of DuckDB; the
project itself reads text.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.tree_data import ATTRIBUTES, CATEGORIES, CLASS

DEPTH, LEAF = 10, 100


def tree(database: str) -> Callable[[], object]:
    """A depth-10 tree of at most 255 bins, from the table to the finished tree."""
    return _induced(database, "cart", {"criterion": "entropy"})


def tree_exact(database: str) -> Callable[[], object]:
    """The same with every value a candidate."""
    return _induced(database, "cart", {"criterion": "entropy", "exact": True})


def tree_c45(database: str) -> Callable[[], object]:
    """Multiway splits by gain ratio, pruned."""
    return _induced(database, "c45", {"prune": True})


def _induced(database: str, inducer: str, options: dict[str, object]) -> Callable[[], object]:
    from ppdm_sql.induction.inducers import induce, settings
    from ppdm_sql.statements.names import Name

    session = _session(database)
    columns = {info.name: info for info in session.engine.columns(Name("people"))}
    attributes = [columns[name] for name in ATTRIBUTES]
    chosen = settings(inducer, {"max_depth": DEPTH, "min_leaf": LEAF, "prune": False, **options})

    def grown() -> dict[str, float]:
        induced = induce(session.engine, Name("people"), attributes, columns[CLASS], chosen)
        right = sum(max(node.counts) for node in induced.tree.leaves)
        return {"accuracy": right / induced.rows, "leaves": len(induced.tree.leaves)}

    return grown


def naive_bayes(database: str) -> Callable[[], object]:
    """Naive Bayes, numeric attributes in bins."""
    from ppdm_sql.classifiers.naive_bayes import learn
    from ppdm_sql.statements.names import Name

    session = _session(database)
    columns = {info.name: info for info in session.engine.columns(Name("people"))}
    return lambda: learn(session.engine, Name("people"), [columns[name] for name in ATTRIBUTES], columns[CLASS])


def group_bys(database: str) -> Callable[[], object]:
    """The floor of naive Bayes: one GROUP BY attribute, class per attribute."""
    import duckdb

    con = duckdb.connect(database, read_only=True)
    con.execute("SET enable_progress_bar = false")
    queries = [f"SELECT {name}, {CLASS}, count(*) FROM people GROUP BY ALL" for name in ATTRIBUTES]
    return lambda: [con.execute(query).fetchnumpy() for query in queries]


def sklearn_exact(database: str) -> Callable[[], object]:
    """scikit-learn's DecisionTreeClassifier on all values."""

    def grown() -> dict[str, float]:
        from sklearn.tree import DecisionTreeClassifier

        matrix, target = _pulled(database)
        model = DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH, min_samples_leaf=LEAF, random_state=0)
        model.fit(matrix, target)
        return {"accuracy": _accuracy(model.predict, matrix, target), "leaves": int(model.get_n_leaves())}

    return grown


def lightgbm_tree(database: str) -> Callable[[], object]:
    """LightGBM's first tree: 255 bins, depth 10."""

    def grown() -> dict[str, float]:
        import lightgbm

        matrix, target = _pulled(database)
        parameters = {
            "objective": "binary", "num_leaves": 1024, "max_depth": DEPTH, "min_data_in_leaf": LEAF, "max_bin": 255,
            "num_threads": 2, "verbose": -1, "min_sum_hessian_in_leaf": 0, "learning_rate": 1.0,
        }  # fmt: skip
        data = lightgbm.Dataset(matrix, target, free_raw_data=False)
        model = lightgbm.train(parameters, data, num_boost_round=1)
        return {"model": model, "matrix": matrix, "target": target}

    return grown


def after_lightgbm(result: dict) -> dict[str, float]:
    """Accuracy is measured after the clock has stopped."""
    model = result["model"]
    share = _accuracy(lambda part: (model.predict(part) > 0.5).astype("int8"), result["matrix"], result["target"])
    return {"accuracy": share, "leaves": float(model.dump_model()["tree_info"][0]["num_leaves"])}


def _pulled(database: str):
    """The table as a float32 matrix of codes and numbers, and the class as 0 or 1."""
    import duckdb
    import numpy as np

    con = duckdb.connect(database, read_only=True)
    con.execute("SET enable_progress_bar = false")
    picked = [f"enum_code({name}) AS {name}" if name in (*CATEGORIES, CLASS) else name for name in (*ATTRIBUTES, CLASS)]
    found = con.execute(f"SELECT {', '.join(picked)} FROM people_enum").fetchnumpy()
    matrix = np.empty((len(found[CLASS]), len(ATTRIBUTES)), dtype=np.float32, order="F")
    for place, name in enumerate(ATTRIBUTES):
        matrix[:, place] = found.pop(name)
    return matrix, np.asarray(found[CLASS], dtype=np.int8)


def _accuracy(predict, matrix, target) -> float:
    part = slice(0, 1_000_000)
    return float((predict(matrix[part]) == target[part]).mean())


def _session(database: str):
    """The database, after a first small tree elsewhere: modules that load at first use are not what is timed."""
    import duckdb

    import ppdm_sql
    from ppdm_sql.induction.inducers import induce, settings
    from ppdm_sql.statements.names import Name

    con = duckdb.connect()
    con.execute("CREATE TABLE small AS SELECT range % 7 AS a, 'x' || range % 3 AS b FROM range(90)")
    engine = ppdm_sql.connect(con).engine
    a, b = engine.columns(Name("small"))
    induce(engine, Name("small"), [a], b, settings("cart"))
    return ppdm_sql.connect(database)


TREE_CASES: dict[str, Callable[[str], Callable[[], object]]] = {
    one.__name__: one
    for one in (tree, tree_exact, tree_c45, naive_bayes, group_bys, sklearn_exact, lightgbm_tree)
}  # fmt: skip
