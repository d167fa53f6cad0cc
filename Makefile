# Two commands on a fresh machine with Python 3.11+ and make: `make train` and `make test`.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help train test results chromium bench lint types format clean

help:
	@echo "make train   set up, train InvertedPendulum-v4 until it holds 1000 on unseen episodes, and write its report"
	@echo "make test    set up, then run lint, types and every test"
	@echo "make results set up, then compute the tables and figures of docs/results.md from results/"
	@echo "make bench   set up, then measure speed (the better part of an hour) and put the tables into docs/performance.md"
	@echo "make format  rewrite the source in the project's style"
	@echo "make clean   remove the virtual environment and caches"

train: $(VENV)/.installed
	$(BIN)/sirl train InvertedPendulum-v4 --stop-at 1000 --report

test: lint types chromium
	$(BIN)/pytest -n 2 --dist worksteal

results: $(VENV)/.installed-test
	$(BIN)/sirl reproduce --report --out results --page docs/results.md
	$(BIN)/sirl sweep voting --report --scale 0.15 --out results/sweep-voting --page docs/results.md
	$(BIN)/sirl sweep budget --report --scale 0.15 --out results/sweep-budget --page docs/results.md

bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run.py --out runs/bench
	$(BIN)/python benchmarks/into_docs.py runs/bench/bench.md docs/performance.md

# The report's page is tested in a real browser; where it can't be installed, these tests say that they are skipped.
chromium:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -q && apt-get install -y -q chromium; } || echo "no chromium: tests of the page are skipped"

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
	find src tests -name __pycache__ -type d -exec rm -rf {} +
