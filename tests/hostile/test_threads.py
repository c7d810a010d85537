"""Nothing of a stopped job is left: threads, by every way to start one."""

from collections.abc import Mapping

import pytest

from tests.hostile.scenario import Evidence, Scenario, completions, stops

pytestmark = pytest.mark.timeout(600)  # the first test waits for the scenarios of all


@pytest.mark.parametrize("scenario", stops("threads"), ids=str)
def test_a_cancelled_job_leaves_nothing_behind(
    scenario: Scenario, evidence: Mapping[str, Evidence]
) -> None:
    evidence[str(scenario)].check()


@pytest.mark.parametrize("scenario", completions("threads", "async"), ids=str)
def test_nobody_pays_for_what_it_leaves_when_it_completes(
    scenario: Scenario, evidence: Mapping[str, Evidence]
) -> None:
    evidence[str(scenario)].check()
