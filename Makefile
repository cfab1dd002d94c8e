# Every target sets itself up in .venv; run them in any order. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.ready
DEV    := $(VENV)/.dev
PEERS  := .venvs/mock-peers/.ready

.DEFAULT_GOAL := help
.PHONY: help fmt check test fuzz demo curl check-mock live soak bench-self bench bench-instructions clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "agentloop needs Python 3.11 or newer (PYTHON=python3.12 make ...)"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml | $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[cli]'
	@touch $@

$(DEV): pyproject.toml $(STAMP)
	$(PY) -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

demo: $(STAMP) ## run an agent against the built-in mock provider (no key, no network)
	@$(PY) -m agentloop run "What is the weather in Tokyo, in Fahrenheit?" --mock --demo-tools

curl: $(STAMP) ## the walkthrough of curl/README.md, by default against the built-in mock provider
	@sh curl/all.sh

fmt: $(DEV) ## format the code and mend what ruff can
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

check: $(DEV) ## lint and types
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m basedpyright --level error

test: check ## lint, types, tests
	$(PY) -m pytest

fuzz: $(DEV) ## mutated recordings of real servers, for a few minutes
	FUZZ_EXAMPLES=20000 $(PY) -m pytest tests/wire/test_fuzz.py tests/wire/test_events_fuzz.py

$(PEERS): tests/mock_peers/requirements.txt
	$(PYTHON) -m venv .venvs/mock-peers
	.venvs/mock-peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

check-mock: $(STAMP) $(PEERS) ## the vendors' own packages, in an environment of their own, against the mock provider
	$(PY) -m tests.mock_peers .venvs/mock-peers/bin/python

live: $(DEV) ## the same agent against the server that AGENTLOOP_BASE_URL names (skips when unset)
	$(PY) -m pytest -rs tests/live

soak: $(DEV) ## 1,000 runs at once against a failing provider, in tasks and in threads
	$(PY) -m tests.soak

bench-self: $(DEV) ## our own cost beside hand-written httpx, in under a minute
	$(PY) -m tests.bench

bench: $(DEV) ## the same beside the peers, each in an environment of its own, and how costs grow
	$(PY) -m pip install --quiet --disable-pip-version-check --group bench
	$(PY) -m tests.bench --full

bench-instructions: $(DEV) ## the same paths counted in instructions, with valgrind; some minutes
	$(PY) -m tests.bench.instructions

clean: ## remove the environment and all caches
	rm -rf $(VENV) .venvs .pytest_cache .ruff_cache .hypothesis dist build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
