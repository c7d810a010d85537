# Everything from a fresh clone: Python 3.11, pip and make are enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Compiled once and kept, whatever the surroundings say: the tests start thousands of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help:  ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@echo "Setting up .venv (once, about a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit("Tenure needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.PHONY: setup
setup: $(READY)  ## Make the virtual environment .venv

.PHONY: check
check: $(READY)  ## Format, lint, types, layers, pages, links, the texts and tests of the mutants
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.docs --check
	$(BIN)/python -m tests.mutants --verify

.PHONY: format
format: $(READY)  ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# More at once than there are processors: many wait. What takes long comes first (tests/conftest.py).
TOGETHER := --numprocesses 5 --dist loadfile --no-loadscope-reorder

.PHONY: test
test: $(READY)  ## All tests, on the embedded PostgreSQL 18
	$(BIN)/pytest $(TOGETHER)

.PHONY: test-examples
test-examples: $(READY)  ## Those of the examples alone, from end to end
	$(BIN)/pytest $(TOGETHER) tests/examples

# What tells one PostgreSQL from another: the schema, every verb in every state, plans, races, the server itself.
TELLING := tests/store/test_schema.py tests/store/test_search_path.py tests/store/test_catalog.py \
	tests/store/test_lifecycle_matrix.py tests/store/test_plans.py \
	tests/store/test_reads.py tests/store/races tests/store/test_stop.py tests/store/test_exchange.py \
	tests/store/test_policies.py tests/store/test_totals.py tests/store/test_authorization.py tests/system/embedded
TESTS ?= tests/store tests/model tests/system/embedded

.PHONY: test-system
test-system: $(READY)  ## The tests of the database on the system's PostgreSQL (apt install postgresql)
	TENURE_TEST_BINARIES=system $(BIN)/pytest $(TOGETHER) $(TESTS)

.PHONY: test-system-quick
test-system-quick:  ## Those of them that tell one PostgreSQL from another
	@$(MAKE) --no-print-directory test-system TESTS="$(TELLING)"

# The lowest versions that pyproject.toml allows of all that Tenure needs; the tools of the tests are new.
LOWEST := .venv-lowest
LOWEST_INSTALL := $(LOWEST)/bin/uv pip install --quiet --compile-bytecode --python $(LOWEST)/bin/python
# At least one file for each dependency, and little that waits.
LOWEST_TESTS := tests/domain tests/cli/test_help.py tests/cli/test_printing.py tests/cli/test_migrate.py \
	tests/cli/test_job_enqueue.py tests/cli/test_job_list.py tests/cli/test_job_cancel.py \
	tests/cli/test_top.py tests/cli/test_serve.py tests/cli/test_worker.py \
	tests/control/test_tasks.py tests/control/test_tasks_arguments.py tests/control/test_tasks_schedules.py \
	tests/store/test_store.py tests/store/test_line.py tests/store/test_cancelled_calls.py \
	tests/store/test_lifecycle_matrix.py tests/store/test_notices.py \
	tests/observe/test_metrics.py tests/runtime/test_artifacts.py tests/runtime/test_conformance.py \
	tests/web/test_jobs.py tests/web/test_stops.py tests/web/test_events.py tests/web/dashboard/test_pages.py

$(LOWEST)/.ready: pyproject.toml
	@echo "Setting up $(LOWEST) ..."
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(LOWEST_INSTALL) --resolution lowest-direct --editable '.[all]'
	@$(LOWEST_INSTALL) httpx hypothesis playwright pytest pytest-timeout pytest-xdist
	@touch $@

.PHONY: test-lowest
test-lowest: $(LOWEST)/.ready  ## Some tests, on the lowest versions of the dependencies that are allowed
	$(LOWEST)/bin/pytest $(TOGETHER) -W ignore::DeprecationWarning $(LOWEST_TESTS)

.PHONY: demo
demo: $(READY)  ## Watch jobs being claimed, stopped and recovered
	@$(BIN)/python -m demo

PART ?= 1/1

.PHONY: mutants
mutants: $(READY)  ## Remove every guard once, and see its test fail (PART=3/17: one part of them)
	$(BIN)/python -m tests.mutants --part $(PART)

.PHONY: soak
soak: $(READY)  ## The model of a job's life, for a long time
	TENURE_TEST_MODEL_EXAMPLES=3000 $(BIN)/pytest tests/model --timeout=0

.PHONY: bench-store
bench-store: $(READY)  ## The speed of the verbs, beside a bare loop on a bare table
	$(BIN)/python -m bench.store

.PHONY: bench-worker
bench-worker: $(READY)  ## The speed of a worker: jobs, stops, deaths, memory
	$(BIN)/python -m bench.worker

.PHONY: bench-api
bench-api: $(READY)  ## The speed of the REST API, beside a bare endpoint; a stop of 1,000 tasks
	$(BIN)/python -m bench.api

.PHONY: bench-page
bench-page: $(READY)  ## The speed of the page: a list of a million jobs, 200 live viewers
	$(BIN)/python -m bench.page

.PHONY: bench-peers
bench-peers: $(READY)  ## Tenure beside its peers; writes docs/benchmarks.md (an hour; apt install redis-server nodejs npm)
	$(BIN)/python -m bench.peers --write docs

.PHONY: bench-scale
bench-scale: $(READY)  ## Cost as the work grows, as curves; writes docs/scale.md (half an hour)
	$(BIN)/python -m bench.scale --write docs

.PHONY: bench
bench: bench-store bench-worker bench-api bench-page  ## All benchmarks

.PHONY: docs
docs: $(READY)  ## Write the pages that are made from the code, and look at all links
	$(BIN)/python -m tools.docs

.PHONY: pictures
pictures: $(READY)  ## Take the pictures of the README anew (needs Chromium and tmux)
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.demo_picture

.PHONY: clean
clean:  ## Remove what was made here
	rm -rf .venv .venv-lowest .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
