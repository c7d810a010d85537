"""Policies that two callers write at once."""

import pytest

from tenure.domain.principal import Principal, Role
from tenure.errors import NotAllowed
from tenure.store.calls import policy_calls
from tenure.store.store import Store
from tests.factories import make_job
from tests.store.races.stage import Stage

ANN = Principal("ann", Role.OPERATOR, via="rest")
ROOT = Principal("root", Role.ADMIN, via="rest")


def test_an_admins_policy_that_came_in_between_is_not_overwritten(
    store: Store, stage: Stage
) -> None:
    """The look for it came too early: the write has the last word."""
    when = {"age": "1h"}
    hers = {"filter": {"id": make_job(store, owner="ann")}, "when": when}
    a, b = stage.session(), stage.session()

    a(policy_calls.set_policy("curfew", {"when": when}).asked_by(ROOT))
    second = stage.waits(b, policy_calls.set_policy("curfew", hers).asked_by(ANN))
    a.commit()

    with pytest.raises(NotAllowed, match="ann is an operator and may not set policy"):
        second.result()
    b.commit()
    [kept] = store.policies()
    assert (kept.created_by, kept.spec["filter"]) == ("root", {})
