"""What a job says about its stop comes before the settings of its worker."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.config import Settings
from tenure.domain.lifecycle import Rung
from tenure.domain.options import OptionSet
from tenure.runtime.keeper.run import Limits

HALF_A_MINUTE = timedelta(seconds=30)
COOPERATIVE = Settings(stop_grace=HALF_A_MINUTE, ask_for=HALF_A_MINUTE, last_rung="interrupted")


@pytest.mark.parametrize(
    ("written", "ask_for", "last"),
    [
        ({}, 30, Rung.INTERRUPTED),
        ({"grace": "10s"}, 10, Rung.INTERRUPTED),
        ({"ask_for": "2s"}, 2, Rung.INTERRUPTED),
        ({"last_rung": "killed"}, 30, Rung.KILLED),
    ],
)
def test_an_app_has_defaults_for_asking_and_for_the_last_rung(
    written: dict[str, Any], ask_for: int, last: Rung
) -> None:
    limits = Limits(OptionSet().changed(written).stored(), COOPERATIVE)
    assert (limits.ask_for.total_seconds(), limits.last_rung) == (ask_for, last)
