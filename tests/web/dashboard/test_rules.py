"""Policies, strategies, bulk stops and tokens: listed, created and dropped, by role."""

from datetime import timedelta

import pytest

from tenure.control.client import Client
from tenure.control.tokens import recognize
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.store.calls import control_calls
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_worker, promote
from tests.web.dashboard.conftest import Visits
from tests.web.dashboard.visitor import Visitor, actions, said, tags


def trail(store: Store, subject: str) -> list[tuple[str, str, str, str]]:
    return [(row.verb, row.name, row.actor, row.via) for row in store.audit_log(subject)][::-1]


def test_a_policy_is_set_switched_and_dropped(root: Visitor, vic: Visitor, store: Store) -> None:
    done = root.does(
        "/policies",
        name="stale",
        queue="crawl",
        tag="eu",
        waiting="2h",
        superseded="1",
        unit="tokens",
        share="0.9",
        above="0.5",
        of="30",
        by="task",
        at="2031-01-01T12:00",
        intent="pause",
        strategy="patient",
        reason="too old",
    )
    assert (done.status_code, done.headers["location"]) == (303, "/policies")
    [policy] = store.policies()
    assert policy.spec == {
        "filter": {"queue": "crawl", "tag": "eu"},
        "when": {
            "waiting": "2h",
            "superseded": True,
            "budget": {"tokens": 0.9},
            "error_rate": {"above": 0.5, "of": 30, "by": "task", "within": "1h"},
            "at": "2031-01-01T12:00:00+00:00",
        },
        "intent": "pause",
        "strategy": "patient",
        "reason": "too old",
    }
    text = said(root.sees("/policies"))
    assert "stale by root ✓ on not checked yet pause patient too old tag: eu queue: crawl" in text
    assert 'budget: {"tokens": 0.9}' in text
    root.does("/policies/switch", name="stale")
    assert not store.policies()[0].enabled
    assert "stale by root ‖ off" in said(root.sees("/policies"))
    root.does("/policies/switch", name="stale", on="1")
    assert store.policies()[0].enabled
    assert store.policies()[0].spec == policy.spec
    assert "stale" in said(vic.sees("/policies"))
    assert actions(vic.sees("/policies")) == {"/logout"}
    assert root.does("/policies/drop", name="stale").status_code == 303
    assert store.policies() == ()
    assert {(row[0], *row[2:]) for row in trail(store, "policy")} == {
        ("set", "root", "dashboard"),
        ("drop", "root", "dashboard"),
    }


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "a policy needs a condition"),
        ({"age": "long"}, "age"),
        ({"unit": "tokens"}, "share: must be a number such as 0.9"),
        ({"unit": "tokens", "share": "x"}, "share: must be a number such as 0.9"),
        ({"unit": "tokens", "share": "7"}, "a share of the budget of tokens above 0"),
        ({"above": "0.5", "of": "-1"}, "of: must be a number of jobs"),
        ({"above": "nan"}, "'above' is a share from 0"),
        ({"at": "soon"}, "at: must be a time"),
        ({"age": "1h", "intent": "stop"}, "a policy cancels or pauses"),
        ({"age": "1h", "strategy": "nothing"}, "there is no strategy"),
    ],
)
def test_a_policy_that_cannot_be_is_told_so(
    root: Visitor, store: Store, fields: dict[str, str], sentence: str
) -> None:
    answer = root.does("/policies", name="odd", **fields)
    assert answer.status_code in (404, 422)
    assert sentence in said(answer.text)
    assert store.policies() == ()
    assert root.does("/policies/switch", name="odd").status_code == 404
    assert root.does("/policies/drop", name="odd").status_code == 404
    assert root.does("/policies", age="1h").status_code == 422


def test_a_strategy_is_set_and_dropped(root: Visitor, vic: Visitor, store: Store) -> None:
    fields = {"grace": "10s", "ask_for": "5s", "last_rung": "terminated", "cascade": "no"}
    assert root.does("/strategies", name="gentle", **fields).status_code == 303
    [made] = [one for one in store.strategies() if one.name == "gentle"]
    assert made.options == {
        "grace": 10,
        "ask_for": 5,
        "last_rung": "terminated",
        "cascade": False,
    }
    assert "gentle" in said(vic.sees("/strategies"))
    assert actions(vic.sees("/strategies")) == {"/logout"}
    for wrong in ({"grace": "x"}, {"force": "maybe"}, {"last_rung": "high"}):
        assert root.does("/strategies", name="odd", **wrong).status_code == 422
    assert root.does("/strategies/drop", name="gentle").status_code == 303
    assert root.does("/strategies/drop", name="gentle").status_code == 404
    assert "gentle" not in [one.name for one in store.strategies()]
    assert trail(store, "strategy") == [
        ("set", "gentle", "root", "dashboard"),
        ("drop", "gentle", "root", "dashboard"),
    ]


def test_the_secret_of_a_new_token_is_shown_once(
    root: Visitor, client: Client, store: Store
) -> None:
    answer = root.does("/tokens", name="ada", role="operator", lifetime="30d")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert "data-live" not in answer.text, "a refresh would remove the secret"
    assert "data-every" not in answer.text
    secret = next(word for word in said(answer.text).split() if word.startswith("tenure_"))
    who = recognize(client, secret)
    assert (who.name, who.role, who.tenant.name) == ("ada", Role.OPERATOR, "default")
    listed = root.sees("/tokens")
    assert secret not in listed
    [token] = [one for one in store.tokens() if one.name == "ada"]
    assert token.expires_at is not None
    assert token.expires_at - token.created_at == timedelta(days=30)
    assert f"{token.id} ada ✓ valid operator default" in said(listed)
    done = root.does(f"/tokens/{token.id}/revoke", reason="left us")
    assert done.status_code == 303
    assert f"{token.id} ada ⊘ revoked" in said(root.sees("/tokens"))
    [row] = [row for row in store.audit_log("token", str(token.id)) if row.verb == "revoke"]
    assert (row.actor, row.via, row.reason) == ("root", "dashboard", "left us")
    root.does("/tokens", name="eve", role="viewer")
    root.does("/tokens", name="ann", role="viewer", lifetime="never")
    [eve, ann] = [one for one in store.tokens() if one.name in ("eve", "ann")]
    assert eve.expires_at == eve.created_at + timedelta(days=90)
    assert ann.expires_at is None
    for wrong in ({"role": "king"}, {"lifetime": "x"}, {"tenant": "nobody"}, {"name": "db:x"}):
        assert root.does("/tokens", **{"name": "odd", **wrong}).status_code in (404, 422), wrong
    for path in ("/tokens/x/revoke", "/tokens/999999/revoke", f"/tokens/{'9' * 30}/revoke"):
        assert root.does(path).status_code == 404, path


def test_tokens_are_for_admins_each_in_its_tenant(
    client: Client, visits: Visits, root: Visitor, ann: Visitor, store: Store
) -> None:
    client.migrate(Tenant("acme"))
    boss = visits("boss", Role.ADMIN, "acme")
    made = root.does("/tokens", name="eve", role="viewer", tenant="acme")
    assert "eve, viewer of tenant acme" in said(made.text)
    text = said(boss.sees("/tokens"))
    assert "eve" in text
    assert "root" not in text.replace("made by root", "").replace("by root", "")
    mine = next(one for one in store.tokens() if one.name == "root")
    assert boss.does(f"/tokens/{mine.id}/revoke").status_code == 404
    assert boss.does("/tokens", name="x", role="admin", tenant="default").status_code == 403
    assert ann.see("/tokens").status_code == 403
    assert 'href="/tokens"' not in ann.sees("/jobs")
    assert 'href="/tokens"' in root.sees("/jobs")


def test_bulk_stops_are_listed(root: Visitor, vic: Visitor, store: Store) -> None:
    make_job(store, queue="crawl")
    made = store.bulk_stop({"queue": "crawl", "tag": "eu"}, reason="wrong site", by="ann")
    for one in (root, vic):
        text = said(one.sees("/bulks"))
        assert "cancel tag: eu queue: crawl" in text
        assert "ann wrong site" in text
    assert f'href="/bulk/{made.id}"' in root.sees("/bulks")


def test_a_tenant_is_dropped_by_whoever_types_its_name(
    root: Visitor, client: Client, visits: Visits, store: Store
) -> None:
    client.migrate(Tenant("acme"))
    boss = visits("boss", Role.ADMIN, "acme")
    assert "/tenants/drop" in actions(root.sees("/tenants"))
    for typed in ("", "Acme", "default"):
        answer = root.does("/tenants/drop", name="acme", typed=typed)
        assert answer.status_code == 422
        assert "not dropped: type its name" in said(answer.text)
    assert boss.does("/tenants/drop", name="acme", typed="acme").status_code == 403
    answer = root.does("/tenants/drop", name="default", typed="default", force="1")
    assert "cannot be dropped" in said(answer.text)
    assert root.does("/tenants/drop", name="nobody", typed="nobody").status_code == 404
    assert root.does("/tenants/drop", name="acme", typed="acme").status_code == 303
    assert [one.name for one in store.tenants()] == ["default"]
    assert ("drop", "acme", "root", "dashboard") in trail(store, "tenant")
    assert "acme" not in said(root.sees("/tenants"))


def test_a_tenant_whose_jobs_run_is_dropped_by_force_alone(
    root: Visitor, client: Client, store: Store
) -> None:
    client.migrate(Tenant("acme"))
    with Store(client.url, tenant=Tenant("acme")) as acme:
        make_job(acme)
        make_worker(acme, timedelta(hours=1)).claim_one()
    answer = root.does("/tenants/drop", name="acme", typed="acme")
    assert answer.status_code == 409
    assert "workers hold 1 jobs" in said(answer.text)
    assert root.does("/tenants/drop", name="acme", typed="acme", force="1").status_code == 303


def test_a_pool_that_is_paused_says_so(root: Visitor, store: Store) -> None:
    store.create_pool("trees", ["oak"])
    store.create_pool("birds", ["owl"])
    assert actions(root.sees("/pools")) >= {"/pools/pause"}
    assert "/pools/resume" not in actions(root.sees("/pools"))
    root.does("/pools/pause", name="trees", reason="storm")
    text = said(root.sees("/pools"))
    assert "trees 1 of 1 slot free ‖ paused storm by root" in text
    assert "birds 1 of 1 slot free" in text
    assert [pool.paused for pool in store.pools()] == [False, True]
    root.does("/pools/resume", name="trees")
    assert "paused" not in said(root.sees("/pools"))


def test_a_stop_whose_job_was_resumed_is_shown_as_earlier(root: Visitor, store: Store) -> None:
    job = make_job_in(store, State.RUNNING)
    store.stop(make_job(store), intent=Intent.PAUSE)
    [paused] = [one.id for one in store.list_jobs({"status": "paused"})]
    text = said(root.sees(f"/jobs/{paused}"))
    assert "Pause pause-" in text
    assert "Since then" not in text
    root.does(f"/jobs/{paused}/resume", reason="lunch is over")
    text = said(root.sees(f"/jobs/{paused}"))
    assert "Earlier pause pause-" in text
    assert "the job was resumed by root" in text
    assert "lunch is over" in text
    assert "Since then" not in said(root.sees(f"/jobs/{job}"))


def test_a_job_resumed_with_its_parent_says_so(root: Visitor, store: Store) -> None:
    parent = make_job(store)
    child = make_job(store, parent=parent)
    promote(store)
    store.stop(parent, intent=Intent.PAUSE)
    assert store.show(child).state is State.PAUSED
    store.send(control_calls.resume(parent))
    text = said(root.sees(f"/jobs/{child}"))
    assert "Earlier pause pause-" in text
    assert "the job was resumed with a job above it" in text


def test_what_has_failed_is_looked_at_now_and_then(root: Visitor, store: Store) -> None:
    """The page of a failed job keeps polling, because the job may be resumed."""
    job = make_job_in(store, State.FAILED)
    [main] = [told for tag, told in tags(root.sees(f"/jobs/{job}")) if tag == "main"]
    assert "data-live" not in main
    assert main["data-every"] == "10"
