"""The limits of a budget are numbers of zero or more, by a name."""

from decimal import Decimal
from typing import Any

import pytest

from tenure.domain.budget import Budget
from tenure.errors import InputRefused


def test_a_budget_does_not_follow_the_mapping_it_was_made_of() -> None:
    limits = {"tokens": 1}
    budget = Budget(limits)
    limits["tokens"] = 5
    assert budget.limits == {"tokens": 1}
    with pytest.raises(TypeError):
        budget.limits["tokens"] = 5  # type: ignore[index]


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf"), True, "5", None, Decimal("NaN")])
def test_a_limit_that_is_no_number_of_zero_or_more_is_refused(limit: Any) -> None:
    with pytest.raises(InputRefused) as refusal:
        Budget({"tokens": limit})
    assert str(refusal.value) == (
        f"budget: the limit of tokens is {limit!r}; it takes a number of zero or more"
    )


def test_a_unit_needs_a_name() -> None:
    with pytest.raises(InputRefused, match=r"^budget: '' cannot name what is counted; "):
        Budget({"": 1})
