"""The life of a job under any order of verbs, against a small model.

The same examples every time; TENURE_TEST_MODEL_EXAMPLES=2000 tries that many new ones.
"""

import os

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tenure.store.store import Store
from tests.model.machine import Machine
from tests.model.world import World

_LONGER = os.environ.get("TENURE_TEST_MODEL_EXAMPLES")


@pytest.mark.fresh_database  # World.of changes a setting of the database
@pytest.mark.timeout(0 if _LONGER else 600)
def test_the_invariants_hold_after_every_step(store: Store, sql: psycopg.Connection) -> None:
    Machine.world = World.of(store, sql)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=int(_LONGER or 60),
            stateful_step_count=40,
            derandomize=_LONGER is None,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        ),
    )
