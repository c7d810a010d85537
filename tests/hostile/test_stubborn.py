"""Code that ignores every request to end leaves nothing behind when its job is stopped."""

from collections.abc import Mapping

import pytest

from tests.hostile.scenario import Evidence, Scenario, stops

pytestmark = pytest.mark.timeout(600)  # the first test waits for the scenarios of all


@pytest.mark.parametrize("scenario", stops("stubborn"), ids=str)
def test_a_cancelled_job_leaves_nothing_behind(
    scenario: Scenario, evidence: Mapping[str, Evidence]
) -> None:
    evidence[str(scenario)].check()
