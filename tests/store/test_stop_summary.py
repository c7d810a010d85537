"""A stop with its members summed up: right, and as large for a thousand members as for twenty."""

from collections import Counter

import msgspec
import pytest

from tenure.domain.cancellation import CancellationRecord, StopSummary
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Rung
from tenure.errors import NotFound
from tenure.store.calls import queries
from tenure.store.store import Store
from tests.factories import make_job, make_worker, promote


def stopped_family(store: Store, children: int) -> tuple[CancellationRecord, StopSummary]:
    """Stop a family: two members run, one ends by a rung, the others were waiting."""
    queue = f"of-{children}"
    root = make_job(store, None, queue=queue)
    drafts = [NewJob(task="work", parent=root, queue=queue, pools=["trees"])] * 2
    drafts += [NewJob(task="work", parent=root, queue="later")] * (children - 2)
    store.enqueue(drafts)
    promote(store)
    worker = make_worker(store, queues=[queue])
    slow, quick = worker.claim(2)
    name = store.stop(root, reason="enough").cancellation_id
    reached = {
        str(job.id): {"delivered": f"2030-01-01T00:00:0{n}Z", "asked": f"2030-01-01T00:00:1{n}Z"}
        for n, job in enumerate((slow, quick))
    }
    store.note_reached(worker.id, name, reached)  # type: ignore[arg-type]
    cleanup = {"graceful_close_succeeded": ["browser"], "force_closed": [], "failed": ["lock"]}
    worker.finish(
        quick, "stopped", rung=Rung.INTERRUPTED, heard=True, pids=(7, 8), processes=3,
        cleanup=cleanup,
    )  # fmt: skip
    return store.cancellation(name), store.send(queries.stop_summary(name, n=5))


def test_members_are_summed_up_and_few_are_named(store: Store) -> None:
    store.create_pool("trees", ["oak", "ash"])
    sizes = {}
    for children in (20, 1000):
        record, summary = stopped_family(store, children)
        members = {member.job_id: member for member in record.members}
        assert (summary.members, len(members)) == (children + 1, children + 1)
        assert summary.ended == sum(m.ended_at is not None for m in record.members) == children - 1
        others = [m for m in record.members if m.job_id != record.job_id and m.ended_at]
        assert summary.rungs == Counter(str(m.rung or "not running") for m in others)
        assert sum(n for _, n in summary.ends) == len(others)
        whole, reached = summary.whole, [m.reached for m in record.members if m.reached]
        assert whole.reached == {
            rung: min(times[rung] for times in reached) for rung in ("delivered", "asked")
        }
        assert (whole.was, whole.ended_at, whole.rung) == ("running", None, Rung.INTERRUPTED)
        assert (whole.pids, whole.processes) == ((7, 8), 3)
        assert whole.cleanup["failed"] == ["lock"]
        assert summary.page == tuple(sorted(members))[:5]
        named = {member.job_id: member for member in summary.record.members}
        assert named == {job: members[job] for job in named}, "each as in the whole record"
        assert {record.job_id, *summary.page} <= set(named)
        assert {m.job_id for m in record.members if m.ended_at is None} <= set(named)
        after = store.send(queries.stop_summary(record.cancellation_id, after=min(members), n=1))
        assert after.page == tuple(sorted(members))[1:2]
        sizes[children] = len(msgspec.json.encode(summary))
        store.change_slots("trees", add=[f"more-{n}" for n in range(2)])
    assert sizes[1000] < 1.2 * sizes[20], "its size does not depend on the number of members"


def test_a_job_that_was_not_stopped_has_no_summary(store: Store) -> None:
    with pytest.raises(NotFound, match="was never stopped"):
        store.send(queries.stop_summary(job=make_job(store)))
    with pytest.raises(NotFound, match="no cancellation pause-000001"):
        store.send(queries.stop_summary("pause-000001"))
