# `make demo` and `make test` need Python 3.11 or newer and nothing else.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint bench docs results clean

demo: .venv/base
	$(BIN)/cooccur demo

test: .venv/dev
	$(BIN)/pytest -n 2 --dist loadscope

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/peers .venv/serve
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/topk.py
	$(BIN)/python benchmarks/read.py
	$(BIN)/python benchmarks/epoch.py
	$(BIN)/python benchmarks/drawn.py
	$(BIN)/python benchmarks/layer.py
	$(BIN)/python benchmarks/serve.py

results: .venv/dev
	$(BIN)/python docs/results.py

docs: .venv/dev
	$(BIN)/mkdocs build --strict

.venv/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cooccur needs Python 3.11 or newer; say make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/base: .venv/python pyproject.toml constraints.txt
	@echo "Installing into .venv ..."
	$(PIP) -e .
	touch $@

.venv/dev: .venv/base
	$(PIP) -e ".[dev]"
	touch $@

.venv/peers: .venv/base
	$(PIP) -e ".[peers]"
	touch $@

.venv/serve: .venv/base
	$(PIP) -e ".[serve]"
	touch $@

clean:
	rm -rf .venv site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
