# Two commands for everybody: `make demo` and `make test`. Each builds the environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USE := tests/benchmark tests/cli tests/export tests/inference tests/serve
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test lint type floors unit unit-use unit-core bench format clean

demo: $(VENV)/core.stamp
	$(BIN)/smokescope predict examples/img --out demo

test: lint type floors unit

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/dev.stamp
	$(BIN)/mypy

floors: $(VENV)/dev.stamp
	$(BIN)/lint-imports

# Two halves in two processes side by side, each printed when it is done.
unit: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory -j2 --output-sync=target unit-use unit-core

unit-use:
	$(BIN)/python -m pytest $(USE)

unit-core:
	$(BIN)/python -m pytest $(addprefix --ignore=,$(USE))

# opencv-contrib is a peer to measure against and nothing more: it lies beside the environment, not in it.
bench: $(VENV)/dev.stamp .bench/stamp
	PYTHONPATH=.bench $(BIN)/python -m benchmarks

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .bench demo

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("smokescope needs Python 3.11 or newer: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/core.stamp
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev,train,video,serve,export]'
	@touch $@

.bench/stamp: constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --no-deps --upgrade --target .bench --constraint constraints.txt opencv-contrib-python-headless
	@touch $@
