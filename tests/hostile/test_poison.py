"""A job that harms its runner still ends, and its neighbours keep running."""

from collections.abc import Mapping

import pytest

from tests.hostile.scenario import Evidence, Scenario, completions, stops

pytestmark = pytest.mark.timeout(600)  # the first test waits for the scenarios of all


@pytest.mark.parametrize("scenario", completions("poison", "async", "thread", "process"), ids=str)
def test_it_ends_with_a_reason_and_its_neighbours_go_on(
    scenario: Scenario, evidence: Mapping[str, Evidence]
) -> None:
    evidence[str(scenario)].check()


@pytest.mark.parametrize("scenario", stops("poison", "async"), ids=str)
def test_it_is_stopped_although_its_runner_cannot_help(
    scenario: Scenario, evidence: Mapping[str, Evidence]
) -> None:
    evidence[str(scenario)].check()
