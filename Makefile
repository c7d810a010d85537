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

# uv installs the same in a third of the time of pip, which is there in case uv does not know the index. Bytecode
# is written by the first import: to compile all modules of all dependencies takes longer than to install them.
INSTALL = $(BIN)/uv pip install --quiet --python
NEW_VENV = $(BIN)/uv venv --quiet --clear --no-python-downloads

$(READY): pyproject.toml
	@echo "Setting up .venv (once, about half a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit("Tenure needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(INSTALL) $(BIN)/python --editable '.[dev]' \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
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

# The lowest dependency versions that pyproject.toml allows; the test tools are current. Without mcp, whose own
# dependencies are newer.
LOWEST := .venv-lowest
TEST_TOOLS := httpx hypothesis playwright pytest pytest-timeout pytest-xdist
# At least one test file per dependency, preferring fast ones.
LOWEST_TESTS := tests/domain tests/cli/test_help.py tests/cli/test_output.py tests/cli/test_migrate.py \
	tests/cli/test_job_enqueue.py tests/cli/test_job_list.py tests/cli/test_job_cancel.py \
	tests/cli/test_top.py tests/cli/test_serve.py tests/cli/test_worker.py \
	tests/control/test_tasks.py tests/control/test_tasks_arguments.py tests/control/test_tasks_schedules.py \
	tests/store/test_store.py tests/store/test_serial_connection.py tests/store/test_cancelled_calls.py \
	tests/store/test_lifecycle_matrix.py tests/store/test_notices.py \
	tests/observe/test_metrics.py tests/runtime/test_artifacts.py tests/runtime/test_conformance.py \
	tests/web/test_jobs.py tests/web/test_stops.py tests/web/test_events.py tests/web/dashboard/test_pages.py

$(LOWEST)/.ready: $(READY)
	@echo "Setting up $(LOWEST) ..."
	@$(NEW_VENV) $(LOWEST) --python $(PYTHON)
	@$(INSTALL) $(LOWEST)/bin/python --resolution lowest-direct --editable '.[embedded,otel,web]'
	@$(INSTALL) $(LOWEST)/bin/python $(TEST_TOOLS)
	@touch $@

.PHONY: test-lowest
test-lowest: $(LOWEST)/.ready  ## Run some tests with the lowest allowed dependency versions
	$(LOWEST)/bin/pytest $(PARALLEL) -W ignore::DeprecationWarning $(LOWEST_TESTS)

# What may differ between versions of Python: workers, forks, threads, the import of clients.
PY ?= 3.13
PYTHON_TESTS := tests/domain tests/cli/test_help.py tests/cli/test_worker.py tests/control/test_tasks.py \
	tests/store/test_store.py tests/runtime/test_conformance.py tests/runtime/test_fork_check.py \
	tests/testing/test_sandbox.py tests/web/test_jobs.py tests/public/test_platforms.py

.venv-3.%/.ready: $(READY)
	@echo "Setting up .venv-3.$* ..."
	@$(NEW_VENV) .venv-3.$* \
		--python "$$(ls ~/.pyenv/versions/3.$*.*/bin/python 2>/dev/null | tail -1 | grep . || echo 3.$*)"
	@$(INSTALL) .venv-3.$*/bin/python --editable '.[embedded,otel,web]' $(TEST_TOOLS)
	@touch $@

.PHONY: test-python
test-python: .venv-$(PY)/.ready  ## Run some tests on another Python (PY=3.12)
	.venv-$(PY)/bin/pytest $(PARALLEL) -W ignore::DeprecationWarning $(PYTHON_TESTS)

.PHONY: test-portable
test-portable: $(READY)  ## Run the conformance of the executors in the portable mode
	TENURE_PORTABLE=1 $(BIN)/pytest $(PARALLEL:loadfile=worksteal) tests/runtime/test_conformance.py

.PHONY: test-wheel
test-wheel: $(READY)  ## Follow the README in a clean environment that has only the wheel
	@$(NEW_VENV) .venv-wheel --python $(PYTHON)
	$(BIN)/hatchling build --target wheel --directory .venv-wheel/dist
	@$(INSTALL) .venv-wheel/bin/python "$$(ls .venv-wheel/dist/*.whl)[all]"
	.venv-wheel/bin/python -c 'from importlib.metadata import distribution; print(distribution("tenure").locate_file("tenure"))'
	TENURE_TEST_COMMANDS=$(CURDIR)/.venv-wheel/bin $(BIN)/pytest tests/docs/test_sessions.py -k README

# Django 6 needs Python 3.12: the first of these that runs and is new enough, wherever it is.
DJANGO6 := .venv-django6
DJANGO6_PYTHONS = python3.12 python3.13 python3.14 $(wildcard $(HOME)/.pyenv/versions/3.1[2-9].*/bin/python) $(PYTHON)
NEW_ENOUGH := import sys; sys.version_info >= (3, 12) and print(sys.executable)
DJANGO6_PYTHON = $(firstword $(foreach it,$(DJANGO6_PYTHONS),$(shell $(it) -c '$(NEW_ENOUGH)' 2>/dev/null)))

$(DJANGO6)/.ready: $(READY)
	@echo "Setting up $(DJANGO6) ..."
	@$(NEW_VENV) $(DJANGO6) --python $(DJANGO6_PYTHON)
	@$(INSTALL) $(DJANGO6)/bin/python --editable '.[django,embedded]' 'django>=6' pyyaml $(TEST_TOOLS)
	@touch $@

.PHONY: test-django6
test-django6:  ## Run the tests of the Django integration on Django 6, if there is a Python 3.12 or newer
	@if [ -z "$(DJANGO6_PYTHON)" ]; then \
		echo "Skipped: Django 6 needs Python 3.12 or newer, and there is none."; \
	else \
		$(MAKE) --no-print-directory $(DJANGO6)/.ready && $(DJANGO6)/bin/pytest tests/contrib/django; \
	fi

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
bench-page: $(READY)  ## Benchmark the dashboard: a million jobs, a family of 10,000, 200 live viewers
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
docs: $(READY)  ## Write the generated pages, check all links, and build the site into site/
	$(BIN)/python -m tools.docs
	$(BIN)/python -m tools.site

.PHONY: surface
surface: $(READY)  ## Write the snapshot of the public surface (tests/public/surface)
	$(BIN)/python -m tools.surface

.PHONY: pictures
pictures: $(READY)  ## Retake the pictures of the README (needs Chromium and tmux)
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.demo_picture

.PHONY: page-pictures
page-pictures: $(READY)  ## Retake the pictures with which the tests compare the dashboard (needs Chromium)
	TENURE_TEST_TAKE_PICTURES=1 $(BIN)/pytest tests/web/dashboard/test_appearance.py

.PHONY: footprint
footprint: $(READY)  ## Compare the import time and the size of an installation with their limits
	$(BIN)/python -m tools.footprint

.PHONY: clean
clean:  ## Remove environments, caches and build output
	rm -rf .venv .venv-* .site site .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
