"""What a worker serves (queues, tenants, priorities), and how long its processes live."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tenure.app import Tenure
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.store.migrating import Migrator
from tenure.store.store import Store
from tests.apps import serving
from tests.workers import RunningWorker, Watcher, eventually, running_worker

PLACE = "tests.apps.serving:app"


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    before, serving.app._url = serving.app._url, database
    yield serving.app
    serving.app.close()
    serving.app._url = before


def test_only_the_queues_that_were_named_are_served(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    other = serving.quick.using(queue="other").enqueue()
    mine = serving.quick.using(queue="mine").enqueue()
    with running_worker(database, tmp_path, "--queues", "mine", app=PLACE):
        assert mine.result(timeout="20s") == "done"
        assert store.show(other.id).state is State.PENDING


def test_each_tenant_has_runners_of_its_own(app: Tenure, database: str, tmp_path: Path) -> None:
    Migrator(database).migrate(Tenant("acme"))
    with running_worker(database, tmp_path, "--tenants", "default,acme", app=PLACE):
        ours, theirs = serving.loop_id.enqueue(), serving.loop_id.using(tenant="acme").enqueue()
        assert ours.result(timeout="20s") != theirs.result(timeout="20s")
        plain = serving.process_id.enqueue()
        their_plain = serving.process_id.using(tenant="acme").enqueue()
        assert plain.result(timeout="20s") != their_plain.result(timeout="20s")


def test_a_process_is_used_again_until_it_has_done_enough(
    app: Tenure, database: str, tmp_path: Path
) -> None:
    settings = {"TENURE_RECYCLE_AFTER": "2"}
    with running_worker(database, tmp_path, "--processes", "1", app=PLACE, settings=settings):
        pids = [serving.process_id.enqueue().result(timeout="20s") for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_a_process_that_has_grown_too_large_is_replaced(
    app: Tenure, database: str, tmp_path: Path
) -> None:
    settings = {"TENURE_RECYCLE_ABOVE": "1"}
    with running_worker(database, tmp_path, "--processes", "1", app=PLACE, settings=settings):
        first = serving.process_id.enqueue().result(timeout="20s")
        eventually(lambda: serving.process_id.enqueue().result(timeout="20s") != first)


def test_a_higher_priority_takes_the_slot_of_a_lower_one_where_the_queue_allows_it(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    settings = {"TENURE_PREEMPT": "default"}
    with running_worker(
        database, tmp_path, "--concurrency", "1", app=PLACE, settings=settings
    ) as worker:
        low = serving.holds_its_slot.enqueue(2)
        eventually(lambda: (store.show(low.id).checkpoint or {}) == {"at": 1})
        high = serving.quick.using(priority=5).enqueue()
        assert high.result(timeout="20s") == "done"
        assert low.result(timeout="20s") == 2
        assert (tmp_path / f"started-{low.id}").read_text().split() == ["0", "1"]
        assert store.show(low.id).attempt == 1
        worker.says("a job of priority 5 needs its slot")


def test_without_leave_nobody_gives_way(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    with running_worker(database, tmp_path, "--concurrency", "1", app=PLACE) as worker:
        low = serving.holds_its_slot.enqueue(2)
        eventually((tmp_path / f"started-{low.id}").exists)
        high = serving.quick.using(priority=5).enqueue()
        eventually(lambda: worker.log.count("beat of worker") > 6)
        assert store.show(high.id).state is State.PENDING
        low.cancel()
        assert high.result(timeout="20s") == "done"
        Watcher(store).becomes(low.id, State.CANCELLED)


def test_a_job_whose_time_comes_while_the_worker_is_busy_does_not_wait_for_a_pause(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    with running_worker(database, tmp_path, "--concurrency", "1", app=PLACE):
        first = serving.quick.enqueue()
        first.result(timeout="20s")
        later = serving.quick.using(delay="1s", priority=5).enqueue()
        last = serving.quick.enqueue_many([{}] * 2000)[-1]
        Watcher(store).becomes(later.id, State.COMPLETED)
        store.pause_dispatch("queue", "default")
        began, afterwards = (store.show(job.id).started_at for job in (later, last))
        assert began
        assert afterwards is None or began < afterwards


def test_no_job_waits_for_a_poll_as_long_as_notices_are_heard(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    rare_polls = {"TENURE_POLL": "1h", "TENURE_PROMOTE_EVERY": "1h"}
    with running_worker(database, tmp_path, app=PLACE, settings=rare_polls):
        assert serving.quick.enqueue().result(timeout="45s") == "done"
        for _ in range(2):
            serial = serving.quick.using(target="site").enqueue()
            assert serial.result(timeout="45s") == "done"
        first = serving.naps.enqueue()
        then = serving.quick.using(after=first).enqueue()
        assert then.result(timeout="45s") == "done"
        later = serving.quick.using(delay="1s").enqueue()
        assert later.result(timeout="45s") == "done"
        line = [serving.quick.using(target="site").enqueue() for _ in range(3)]
        assert [job.result(timeout="45s") for job in line] == ["done"] * 3


def test_what_no_runner_can_be_started_for_is_given_back_until_one_can(
    store: Store, database: str, tmp_path: Path
) -> None:
    place = "tests.apps.breakable:app"
    with running_worker(database, tmp_path, app=place) as worker:
        [spare] = eventually(lambda: worker.runners)
        (tmp_path / "broken").touch()
        end_fork_server(worker)
        spare.kill()
        [job] = store.enqueue(NewJob(task="tests.apps.breakable.work"))
        worker.says("the deployment went wrong")
        Watcher(store).becomes(job.id, State.PENDING)
        assert store.show(job.id).attempt == 0
        assert "the deployment went wrong" in why_no_runner(store, job.id)
        (tmp_path / "broken").unlink()
        Watcher(store).becomes(job.id, State.COMPLETED, within=60)


def end_fork_server(worker: RunningWorker) -> None:
    """Kill the fork server, if there is one: the next has to import the app again."""
    if server := worker.fork_server:
        os.kill(server, signal.SIGKILL)
        worker.says("it is replaced")


def why_no_runner(store: Store, job: int) -> str:
    """Return the reason that ``explain`` gives, as soon as it does."""
    [sentence] = eventually(
        lambda: [one.sentence for one in store.explain(job).reasons if one.reason == "no runner"],
        "explain says that no runner can be started",
    )
    return sentence


def test_a_guard_without_descriptors_is_told_by_explain(
    store: Store, database: str, tmp_path: Path
) -> None:
    with running_worker(database, tmp_path, app="tests.apps.breakable:app") as worker:
        [spare] = eventually(lambda: worker.runners)
        guard = worker.guard
        _, hard = before = guard.rlimit(psutil.RLIMIT_NOFILE)
        guard.rlimit(psutil.RLIMIT_NOFILE, (guard.num_fds(), hard))
        spare.kill()
        [job] = store.enqueue(NewJob(task="tests.apps.breakable.work"))
        assert "Too many open files" in why_no_runner(store, job.id)
        assert store.show(job.id).state is State.PENDING
        guard.rlimit(psutil.RLIMIT_NOFILE, before)
        Watcher(store).becomes(job.id, State.COMPLETED, within=60)
        assert store.show(job.id).attempt == 1
