# Everything runs from this folder by relative paths, so that the folder may have any name.
# Tools start as modules (`python -m …`): the scripts in .venv/bin hold an absolute path that not every folder name survives.
PY := ./.venv/bin/python
unexport PYTHONPATH
export PYTHONUNBUFFERED := 1
.DEFAULT_GOAL := help
.NOTPARALLEL:
# One process of tests more than there are cores, since tests also wait: for servers, for a time limit, for a disk.
PROCESSES = $(shell expr $$(nproc) + 1)
.PHONY: help setup system publish lint test fast bench determinism processors rulegraph schemas reference standards api clean

help: ## Say what there is to make
	@echo 'make publish   publish every lesson into results/ and name the page to open'
	@echo 'make test      everything: static checks, then all tests (browser, workflow, hostile lessons)'
	@echo 'make fast      the tests without torch, a browser or Snakemake: a minute'
	@echo 'make lint      the static checks only'
	@echo 'make bench     measure publishing, from 1 to 1,000 lessons, and write docs/performance.md; half an hour'
	@echo 'make determinism  every lesson under every combination of surroundings; minutes a lesson'
	@echo 'make processors   what other processors, emulated, compute otherwise: a table; half an hour'
	@echo 'make rulegraph draw the rules into README.md'
	@echo 'make schemas   write the JSON Schemas from the models that they follow'
	@echo 'make reference write the tables of docs/reference.md from the schema and the example lesson'
	@echo 'make standards  hold what is published against the validators of RO-Crate, CITATION.cff and XML'
	@echo 'make api       write pages about the modules into build/api'
	@echo 'make setup     only prepare .venv (every other target does it when needed)'
	@echo 'make clean     remove .venv and scratch; results/ stays'

setup: ## Make .venv as the lock says; instant when nothing changed
	@bash scripts/setup.sh

system: ## Make sure that the tests' system programs are there
	@bash scripts/system_packages.sh

publish: setup ## Publish every lesson
	@$(PY) -m snakemake --cores 1 --quiet all
	@echo 'Published. Open this page in a browser:'
	@echo '  results/index.html'
	@$(PY) -c 'from pathlib import Path; print(" ", Path("results/index.html").resolve().as_uri())'

lint: setup ## Static checks
	@bash scripts/lint.sh

test: system lint ## All but the benchmarks; pytest comes last, its summary is the last line
	@$(PY) -m pytest --numprocesses $(PROCESSES) --dist loadscope --no-loadscope-reorder

fast: setup ## The tests without torch, a browser or Snakemake: less than a minute on two cores
	@$(PY) -m pytest --fast -q --numprocesses $(PROCESSES)

bench: setup ## Measure
	@$(PY) benchmarks/suite.py

determinism: setup ## Every lesson under every combination of surroundings: minutes a lesson
	@$(PY) -m tests.workflow.determinism

processors: setup system build/aarch64 ## What other processors, emulated, compute otherwise; half an hour
	@$(PY) -m tests.processors

build/aarch64: | setup
	@bash scripts/aarch64_root.sh || echo 'aarch64 is left out: its Python could not be fetched' >&2

rulegraph: setup ## The picture of the rules in README.md
	@$(PY) scripts/rulegraph.py

schemas: setup ## The JSON Schemas of recipe, manifest and settings
	@$(PY) scripts/schemas.py

reference: setup ## The tables of docs/reference.md
	@$(PY) scripts/reference.py

standards: ## The standards' own validators on what is published: RO-Crate, CITATION.cff, XML
	@test -x build/validators/bin/cffconvert || { $${PYTHON:-python3} -m venv build/validators && build/validators/bin/python -m pip install --quiet --requirement scripts/standards.txt; }
	@build/validators/bin/python scripts/check_standards.py

api: setup ## Pages about the modules, from their docstrings and types
	@$(PY) scripts/api.py
	@echo 'Written. Open build/api/index.html in a browser.'

clean: ## Remove what can be made again, but never a published revision
	rm -rf .venv node_modules work .snakemake build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
