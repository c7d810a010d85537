"""A budget is breached when more than all of it is spent."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.domain.budget import Budget
from tenure.errors import InputRefused


def message(limits: dict[str, Any], spent: dict[str, Any]) -> str:
    breach = Budget(limits).breach(spent)
    assert breach is not None
    return breach.message


def test_one_token_too_many_is_a_breach_and_says_so() -> None:
    said = message({"tokens": 50_000}, {"tokens": 50_001})
    assert said == "budget of 50000 tokens exceeded: 50001 spent"


@pytest.mark.parametrize("spent", [{"tokens": 50_000}, {"tokens": 0}, {}, {"euros": 10**9}])
def test_to_spend_no_more_than_the_limit_is_no_breach(spent: dict[str, int]) -> None:
    assert Budget({"tokens": 50_000}).breach(spent) is None


def test_a_limit_of_zero_forbids_any_spending() -> None:
    assert Budget({"euros": 0}).breach({"euros": 0}) is None
    assert message({"euros": 0}, {"euros": 0.01}) == "budget of 0 euros exceeded: 0.01 spent"


def test_a_tenth_is_a_tenth_however_it_is_given() -> None:
    assert Budget({"euros": 0.1}).breach({"euros": Decimal("0.1")}) is None
    assert Budget({"euros": Decimal("0.1")}).breach({"euros": 0.1}) is None


def test_amounts_are_written_out_as_the_database_does() -> None:
    assert message({"bytes": 1e16}, {"bytes": 10**16 + 1}) == (
        "budget of 10000000000000000 bytes exceeded: 10000000000000001 spent"
    )


def test_of_several_breaches_the_first_by_name_is_told() -> None:
    breach = Budget({"tokens": 1, "euros": 1}).breach({"tokens": 2, "euros": 2})
    assert breach is not None
    assert breach.unit == "euros"


def test_a_budget_does_not_follow_the_mapping_it_was_made_of() -> None:
    limits = {"tokens": 1}
    budget = Budget(limits)
    limits["tokens"] = 5
    assert budget.breach({"tokens": 2}) is not None
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


@given(st.integers(0, 10**18), st.integers(0, 10**18))
def test_a_breach_is_more_than_the_limit_and_nothing_else(limit: int, spent: int) -> None:
    assert (Budget({"tokens": limit}).breach({"tokens": spent}) is not None) == (spent > limit)
