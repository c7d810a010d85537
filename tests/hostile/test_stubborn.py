"""Nothing of a stopped job is left: code that ignores every request to end."""

from collections.abc import Mapping

import pytest

from tests.hostile.scenario import Evidence, Scenario, stops

pytestmark = pytest.mark.timeout(600)  # the first test waits for the scenarios of all


@pytest.mark.parametrize("scenario", stops("stubborn"), ids=str)
def test_nothing_of_it_is_left_when_it_is_cancelled(
    scenario: Scenario, evidence: Mapping[str, Evidence]
) -> None:
    evidence[str(scenario)].check()
