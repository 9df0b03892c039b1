# Everything a newcomer needs: `make demo`, `make test`.  Each target sets up what it uses.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test test-spark lint bench wheel clean

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

$(VENV)/.bench: pyproject.toml requirements/bench.txt $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	touch $@

demo: $(VENV)/.core ## A hospital table, its risk, a policy, a verified release, an exported file
	$(BIN)/ppdm demo

test: $(VENV)/.test ## All tests on DuckDB and PostgreSQL
	$(BIN)/python -m pytest -n $(WORKERS) -m "not spark"

test-spark: $(VENV)/.spark ## The cross-engine tests on Spark (needs a JDK)
	PPDM_TEST_SPARK=1 $(BIN)/python -m pytest -m spark

lint: $(VENV)/.test ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench ## Ratios to the plain GROUP BY and to peers, in one run
	$(BIN)/python -m benchmarks

wheel: $(VENV)/.test ## Build the wheel and try it in a fresh environment
	sh .ci/wheel

clean:
	rm -rf $(VENV) dist demo .pytest_cache .mypy_cache .ruff_cache
