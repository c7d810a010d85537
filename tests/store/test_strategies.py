"""Strategies: named ways to stop. What a stop says itself comes first, then its strategy."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.bounds import LONGEST
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.errors import InputRefused, NotFound
from tenure.store.store import Store
from tests.factories import make_job, make_worker

ALL = {
    "grace": 7.5,
    "ask_for": 2,
    "last_rung": "terminated",
    "cascade": False,
    "preserve": False,
    "rollback": True,
}


def test_four_are_there_from_the_start(store: Store) -> None:
    assert {s.name: s.options for s in store.strategies()} == {
        "graceful": {},
        "cooperative": {"ask_for": LONGEST.total_seconds(), "last_rung": "interrupted"},
        "patient": {"last_rung": "interrupted"},
        "immediate": {"force": True},
    }


def test_a_stop_takes_all_that_its_strategy_says(store: Store) -> None:
    store.set_strategy("gentle", ALL)
    make_job(store)
    worker = make_worker(store)
    record = store.stop(worker.claim_one().id, strategy="gentle")
    assert record.strategy == "gentle"
    assert (record.grace, record.ask_for) == (7.5, 2)
    assert (record.last_rung, record.force) == (Rung.TERMINATED, False)
    assert (record.cascade, record.preserve, record.rollback) == (False, False, True)
    (signal,) = store.renew(worker.id).signals
    assert (signal.orders["grace"], signal.orders["preserve"]) == (7.5, False)
    after = store.audit_log(n=1)[0].after
    assert (after["strategy"], after["preserve"]) == ("gentle", False)


def test_what_a_stop_says_itself_comes_first(store: Store) -> None:
    store.set_strategy("gentle", ALL)
    record = store.stop(
        make_job(store),
        strategy="gentle",
        grace=timedelta(seconds=1),
        ask_for=timedelta(0),
        last_rung=Rung.KILLED,
        cascade=True,
        preserve=True,
        rollback=False,
    )
    assert (record.grace, record.ask_for, record.last_rung) == (1, 0, Rung.KILLED)
    assert (record.cascade, record.preserve, record.rollback) == (True, True, False)


def test_a_plain_stop_is_as_it_ever_was(store: Store) -> None:
    record = store.stop(make_job(store))
    assert (record.force, record.cascade, record.last_rung) == (False, True, Rung.KILLED)
    assert (record.grace, record.ask_for, record.rollback) == (None, None, False)
    assert (record.preserve, record.strategy, record.rollback_tasks) == (None, None, None)


def test_force_and_the_last_rung_give_way_to_each_other(store: Store) -> None:
    forced = store.stop(make_job(store), strategy="patient", force=True)
    assert (forced.force, forced.last_rung) == (True, Rung.KILLED)
    spared = store.stop(make_job(store), strategy="immediate", last_rung=Rung.INTERRUPTED)
    assert (spared.force, spared.last_rung) == (False, Rung.INTERRUPTED)
    with pytest.raises(InputRefused, match="a forced one kills"):
        store.stop(make_job(store), force=True, last_rung=Rung.ASKED)


def test_asking_again_by_a_harder_strategy_escalates(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one().id
    first = store.stop(job, strategy="patient")
    assert first.last_rung is Rung.INTERRUPTED
    again = store.stop(job, strategy="immediate")
    assert again.cancellation_id == first.cancellation_id
    assert (again.force, again.last_rung, again.strategy) == (True, Rung.KILLED, "patient")
    assert store.stop(job, strategy="patient").force, "and nothing takes it back"


def test_the_artifact_option_can_change_while_the_stop_runs(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one().id
    store.stop(job)
    for word in (False, True):
        assert store.stop(job, preserve=word).preserve is word
        assert store.stop(job).preserve is word
        (signal,) = store.renew(worker.id).signals
        assert signal.orders["preserve"] is word
    assert [row.verb for row in store.audit_log("job")] == ["preserve", "preserve", "cancel"]


def test_a_pause_by_a_strategy_that_rolls_back_is_only_a_pause(store: Store) -> None:
    store.set_strategy("undo", {"rollback": True})
    record = store.stop(make_job(store), intent=Intent.PAUSE, strategy="undo")
    assert not record.rollback
    assert store.show(record.job_id).state is State.PAUSED


def test_one_that_is_not_there_stops_nothing(store: Store) -> None:
    job = make_job(store)
    with pytest.raises(
        NotFound, match="no strategy 'nice'; there are: cooperative, graceful, immediate, patient"
    ):
        store.stop(job, strategy="nice")
    assert store.cancellations() == ()
    with pytest.raises(NotFound, match="no strategy 'nice'"):
        store.drop_strategy("nice")


def test_it_is_made_changed_and_dropped_on_record(store: Store) -> None:
    made = store.set_strategy("slow", {"grace": 60}, by="ann")
    changed = store.set_strategy("slow", {"grace": 90}, by="bob")
    assert (made.created_by, made.options) == ("ann", {"grace": 60})
    assert (changed.created_by, changed.options) == ("ann", {"grace": 90})
    store.drop_strategy("slow", by="cleo")
    assert [
        (row.verb, row.name, row.actor, row.before, row.after)
        for row in store.audit_log("strategy")
    ] == [
        ("drop", "slow", "cleo", {"grace": 90}, None),
        ("set", "slow", "bob", {"grace": 60}, {"grace": 90}),
        ("set", "slow", "ann", None, {"grace": 60}),
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"patience": 1}, "a strategy has no option 'patience'; it has grace, ask_for"),
        ({"grace": -1}, "grace is a number of seconds of zero or more"),
        ({"grace": "20s"}, "grace is a number of seconds"),
        ({"ask_for": 1e300}, "ask_for is a number of seconds"),
        ({"force": "yes"}, "force is true or false"),
        ({"cascade": None}, "cascade is true or false"),
        ({"last_rung": "expired"}, "last_rung is asked, interrupted, terminated or killed"),
        ({"last_rung": 3}, "last_rung is asked"),
        ({"last_rung": None}, "last_rung is asked"),
        ({"force": True, "last_rung": "asked"}, "a strategy that forces kills"),
    ],
)
def test_what_no_stop_could_use_is_refused(
    store: Store, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputRefused, match=sentence):
        store.set_strategy("odd", options)


def test_a_strategy_has_a_name_and_an_object(store: Store, sql: psycopg.Connection) -> None:
    for name in ("", "x" * 501):
        with pytest.raises(InputRefused, match="a name of 1 to 500 characters"):
            store.set_strategy(name, {})
    with pytest.raises(psycopg.Error, match="are a JSON object"):
        sql.execute("SELECT tenure.set_strategy('odd', '[]')")
