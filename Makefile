# One command each, from a fresh clone: the virtual environment is made and filled when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
SHELL := /bin/bash

.PHONY: train test coverage lint bench clean

train: .venv/installed
	$(BIN)/deckhand train flotsam

GAMES := alle_in_die_boote flotsam_fight keltis piraten_pitt

test: lint
	$(BIN)/python -m pytest -n 2
	$(MAKE) coverage

# numba's machine code cannot be traced, so the rules are run as plain Python.
coverage: .venv/installed
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 $(GAMES:%=tests/test_%.py) \
		--cov=deckhand.envs --cov-branch --cov-report=term --cov-report=json:build/coverage.json
	$(BIN)/python tests/coverage_floor.py build/coverage.json $(GAMES)

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/typecheck.py

bench: .venv/installed
	$(BIN)/pip install -q -c constraints.txt -e '.[bench]'
	$(BIN)/deckhand bench

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt torch
	$(BIN)/pip install -q -c constraints.txt -e '.[test]'
	touch .venv/installed

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
