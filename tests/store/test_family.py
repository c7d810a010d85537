"""The reads of the page of a job: its family, its dependencies, its output newest first."""

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.outcomes import LogLine
from tenure.store.store import Store
from tests.factories import make_job, make_jobs, make_worker, promote
from tests.store.test_steps import keep, running, step


def test_a_family_is_read_page_by_page_with_all_its_states(store: Store) -> None:
    top = make_job(store, "top")
    worker = make_worker(store)
    children = [
        make_job(store, parent=top, args={"site": f"s{n}"}, max_attempts=2) for n in range(7)
    ]
    grandchild = make_job(store, parent=children[0], args={"page": 1})
    promote(store)
    [_, first, second] = worker.claim(3)
    worker.finish(first, "retry", error={"message": "no"})
    worker.finish(second)
    whole = store.family(top, n=5)
    assert whole.counts == {State.PENDING: 6, State.COMPLETED: 1}
    assert [one.id for one in whole.members] == [*children[:5], grandchild]
    assert whole.members[0].args == "site=s0"
    assert whole.members[0].children == 1
    assert [each["outcome"] for each in whole.members[0].attempts] == ["retry"]
    assert (whole.members[-1].depth, whole.members[-1].args) == (2, "page=1")
    assert whole.first == store.show(top).created_at <= whole.since < whole.until == whole.last
    assert [sum(part[n] for part in whole.spread) for n in (1, 2, 3)] == [2, 1, 0]
    rest = store.family(top, after=children[4], n=5)
    assert [one.id for one in rest.members] == children[5:]
    [done] = store.family(top, state="completed").members
    assert done.state is State.COMPLETED
    assert not store.family(top, until=whole.first).members
    assert store.family(grandchild).ancestors == (top, children[0])


def test_dependencies_are_read_on_both_sides_and_are_bounded(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(task="a", key="a"),
            NewJob(task="b", key="b", after=["a"]),
            NewJob(task="c", key="c", after=["a"]),
            NewJob(task="d", key="d", after=["b", "c"]),
            *(NewJob(task="e", key=f"e{n}", after=["d"]) for n in range(40)),
        ],
    )
    around = store.dependencies(ids["d"])
    assert {(edge.job_id, edge.needs_id) for edge in around.edges if edge.job_id <= ids["d"]} == {
        (ids["d"], ids["b"]),
        (ids["d"], ids["c"]),
        (ids["b"], ids["a"]),
        (ids["c"], ids["a"]),
    }
    assert (around.needs, around.needed_by) == (2, 40)
    assert len(around.jobs) == 4 + 30
    assert store.dependencies(make_job(store)).jobs == ()


def test_output_is_read_from_the_newest_down_to_the_oldest(store: Store) -> None:
    worker, job = running(store)
    lines = [LogLine(f"line {n}", "error" if n == 3 else "info") for n in range(5)]
    keep(worker, job, step("first"), step("second"), partials=[1, 2, 3], logs=lines)
    seen = store.newest_output(job.id, "partials", n=2)
    assert [row["value"] for row in seen] == [3, 2]
    assert [
        row["value"] for row in store.newest_output(job.id, "partials", below=seen[-1]["id"])
    ] == [1]
    assert [row["name"] for row in store.newest_output(job.id, "steps")] == ["second", "first"]
    [bad] = store.newest_output(job.id, "logs", levels=["error", "critical"])
    assert bad["line"] == "line 3"
    [found] = store.newest_output(job.id, "logs", text="LINE 4")
    assert found["line"] == "line 4"
