# One command each. `make demo` and `make test` do all the set-up: they need git, make and Python 3.11 or later.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check -q

.PHONY: demo federation test test-neural test-faults test-properties check lint types imports suite bench docs clean

demo: $(VENV)/.demo
	$(BIN)/murmura demo

federation: $(VENV)/.federation
	$(BIN)/python examples/federation.py

test: lint types imports suite

test-neural: $(VENV)/.neural
	$(BIN)/pytest -n 2 --dist loadfile tests/neural

# Every kill point of a federation (about 600) instead of some at random: a long run.
test-faults: $(VENV)/.test
	MURMURA_FAULT_POINTS=all $(BIN)/pytest -n 2 --dist loadfile tests/faults

# Every property of the core on examples that nobody has tried; the suite always takes the same.
test-properties: $(VENV)/.test
	HYPOTHESIS_PROFILE=new $(BIN)/pytest -n 2 -m hypothesis --ignore=tests/neural

check: lint types imports

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

imports: $(VENV)/.test
	$(BIN)/lint-imports

suite: $(VENV)/.test
	$(BIN)/pytest -n 2 --dist loadfile --ignore=tests/neural

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Write the generated parts of the documentation anew.
docs: $(VENV)/.test
	MURMURA_WRITE_DOCS=1 $(BIN)/pytest tests/docs

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(PIP) install -e '.[demo,report]'
	touch $@

$(VENV)/.federation: $(VENV)/bin/python pyproject.toml
	$(PIP) install -e '.[serve]'
	touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml
	$(PIP) install -e '.[demo,report,search,serve,test]'
	touch $@

$(VENV)/.neural: $(VENV)/.test
	$(PIP) install -e '.[demo,report,search,serve,test,neural]'
	touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) install -e '.[demo,report,search,serve,test,bench]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache
