import pytest
from sqlglot import exp
def test_a(engine, make_table):
    n = make_table(engine, "t", {"age":"INTEGER",'o"b':"TEXT"}, [(1,"x"),(None,None)])
    assert sorted(engine.fetch(exp.select("*").from_(n.table())), key=str) == [(1,"x"),(None,None)]
@pytest.mark.parametrize("i", range(40))
def test_b(engine, make_table, i):
    test_a(engine, make_table)
