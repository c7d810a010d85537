# All commands work in a fresh clone with Python 3.11, pip and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Always write bytecode files: the tests start thousands of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help:  ## List all targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@echo "Setting up .venv (once, about a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit("Tenure needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.PHONY: setup
setup: $(READY)  ## Create the virtual environment .venv

.PHONY: check
check: $(READY)  ## Check format, lint, types, import layers, generated pages, links, and that mutants apply
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell src docs tests tools examples demo bench *.md
	$(BIN)/python -m tools.house
	$(BIN)/python -m tools.docs --check
	$(BIN)/python -m tests.mutants --verify

.PHONY: format
format: $(READY)  ## Format the code and apply automatic fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# More processes than processors, because many tests wait. Slow tests run first (tests/conftest.py).
PARALLEL := --numprocesses 5 --dist loadfile --no-loadscope-reorder

.PHONY: test
test: $(READY)  ## Run all tests on the embedded PostgreSQL 18
	$(BIN)/pytest $(PARALLEL)

.PHONY: test-examples
test-examples: $(READY)  ## Run only the end-to-end tests of the examples
	$(BIN)/pytest $(PARALLEL) tests/examples

# Tests that may differ between PostgreSQL versions: schema, every verb in every state, plans, races, the server.
VERSION_TESTS := tests/store/test_schema.py tests/store/test_search_path.py tests/store/test_catalog.py \
	tests/store/test_lifecycle_matrix.py tests/store/test_plans.py \
	tests/store/test_reads.py tests/store/races tests/store/test_stop.py tests/store/test_exchange.py \
	tests/store/test_policies.py tests/store/test_totals.py tests/store/test_authorization.py tests/system/embedded
TESTS ?= tests/store tests/model tests/system/embedded

.PHONY: test-system
test-system: $(READY)  ## Run the database tests on the system's PostgreSQL (apt install postgresql)
	TENURE_TEST_BINARIES=system $(BIN)/pytest $(PARALLEL) $(TESTS)

.PHONY: test-system-quick
test-system-quick:  ## Run only those that may differ between PostgreSQL versions
	@$(MAKE) --no-print-directory test-system TESTS="$(VERSION_TESTS)"

# The lowest dependency versions that pyproject.toml allows; the test tools are current.
LOWEST := .venv-lowest
LOWEST_INSTALL := $(LOWEST)/bin/uv pip install --quiet --compile-bytecode --python $(LOWEST)/bin/python
# At least one test file per dependency, preferring fast ones.
LOWEST_TESTS := tests/domain tests/cli/test_help.py tests/cli/test_output.py tests/cli/test_migrate.py \
	tests/cli/test_job_enqueue.py tests/cli/test_job_list.py tests/cli/test_job_cancel.py \
	tests/cli/test_top.py tests/cli/test_serve.py tests/cli/test_worker.py \
	tests/control/test_tasks.py tests/control/test_tasks_arguments.py tests/control/test_tasks_schedules.py \
	tests/store/test_store.py tests/store/test_serial_connection.py tests/store/test_cancelled_calls.py \
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
test-lowest: $(LOWEST)/.ready  ## Run some tests with the lowest allowed dependency versions
	$(LOWEST)/bin/pytest $(PARALLEL) -W ignore::DeprecationWarning $(LOWEST_TESTS)

.PHONY: demo
demo: $(READY)  ## Watch jobs being claimed, stopped and recovered
	@$(BIN)/python -m demo

PART ?= 1/1

.PHONY: mutants
mutants: $(READY)  ## Remove each guard once and check that a test fails (PART=3/17: one of 17 parts)
	$(BIN)/python -m tests.mutants --part $(PART)

.PHONY: soak
soak: $(READY)  ## Run the model-based tests for a long time
	TENURE_TEST_MODEL_EXAMPLES=3000 $(BIN)/pytest tests/model --timeout=0

.PHONY: bench-store
bench-store: $(READY)  ## Benchmark the verbs against a bare loop on a bare table
	$(BIN)/python -m bench.store

.PHONY: bench-worker
bench-worker: $(READY)  ## Benchmark a worker: jobs, stops, deaths, memory
	$(BIN)/python -m bench.worker

.PHONY: bench-api
bench-api: $(READY)  ## Benchmark the REST API against a bare endpoint; a stop of 1,000 tasks
	$(BIN)/python -m bench.api

.PHONY: bench-page
bench-page: $(READY)  ## Benchmark the dashboard: a list of a million jobs, 200 live viewers
	$(BIN)/python -m bench.page

.PHONY: bench-peers
bench-peers: $(READY)  ## Compare Tenure with its peers; writes docs/benchmarks.md (1 h; apt install redis-server nodejs npm)
	$(BIN)/python -m bench.peers --write docs

.PHONY: bench-scale
bench-scale: $(READY)  ## Measure cost as the work grows; writes docs/scale.md (30 min)
	$(BIN)/python -m bench.scale --write docs

.PHONY: bench
bench: bench-store bench-worker bench-api bench-page  ## Run the four benchmarks above: store, worker, api, page

.PHONY: docs
docs: $(READY)  ## Write the generated pages and check all links
	$(BIN)/python -m tools.docs

.PHONY: surface
surface: $(READY)  ## Write the snapshot of the public surface (tests/public/surface)
	$(BIN)/python -m tools.surface

.PHONY: pictures
pictures: $(READY)  ## Retake the pictures of the README (needs Chromium and tmux)
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.demo_picture

.PHONY: clean
clean:  ## Remove environments, caches and build output
	rm -rf .venv .venv-lowest .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
