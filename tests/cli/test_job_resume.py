"""``tenure job resume``, ``clear``, ``rerun``, ``queue``, and what a job has left on its way."""

import pytest

from tenure.domain.job import NEVER
from tenure.domain.lifecycle import State
from tenure.store.outcomes import Artifact, LogLine, Report
from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job, make_job_in, make_worker, promote


@pytest.mark.parametrize("state", [State.PAUSED, State.FAILED])
def test_a_paused_or_failed_job_is_resumed(cli: Cli, store: Store, state: State) -> None:
    job = make_job_in(store, state)
    done = cli("job", "resume", job, "--reason", "again")
    assert (done.code, done.out) == (0, f"Job {job} is resumed; it is queued.\n")
    assert store.show(job).state is State.PENDING
    assert store.audit_log("job", str(job))[0].reason == "again"
    assert cli("job", "resume", job).sentence(11) == "cannot resume a job that is queued"
    assert cli("job", "resume", job, "--json").refusal(11)[0] == "IllegalTransition"


def test_a_fresh_resume_ignores_the_checkpoint(cli: Cli, store: Store) -> None:
    job = make_job(store)
    promote(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    store.report(worker.id, [Report(job=job, token=claimed.token, checkpoint={"at": 1})])
    worker.finish(claimed, "failed", error={"message": "no"})
    assert cli.json("job", "resume", job, "--fresh")["checkpoint"] is None


def test_a_failed_job_is_given_up(cli: Cli, store: Store) -> None:
    job = make_job_in(store, State.FAILED, key="broken")
    assert cli("job", "clear", "broken").out == f"Job {job} is cleared.\n"
    assert store.show(job).state is State.CANCELLED
    assert "cannot clear a job that is cancelled" in cli("job", "clear", job).sentence(11)
    assert cli.json("job", "clear", make_job_in(store, State.FAILED)) == {"cleared": [2]}


def test_a_job_is_done_again(cli: Cli, store: Store) -> None:
    job = make_job_in(store, State.COMPLETED, args={"n": 1})
    assert cli("job", "rerun", job).out == f"Enqueued job 2, a rerun of job {job}.\n"
    assert store.show(2).args == {"n": 1}
    assert cli.json("job", "rerun", job)["id"] == 3
    assert "there is no job 77" in cli("job", "rerun", "77").sentence(10)


def test_a_job_that_was_only_created_is_queued(cli: Cli, store: Store) -> None:
    job = make_job(store, run_at=NEVER)
    assert cli("job", "queue", job, "--at", "2090-01-01T12:00Z").out == f"Job {job} is waiting.\n"
    assert cli("job", "queue", job).code == 11
    other = make_job(store, run_at=NEVER)
    assert cli.json("job", "queue", other)["id"] == other


class Left:
    """What a job has left."""

    def __init__(self, store: Store) -> None:
        self.job = make_job(store, key="left")
        promote(store)
        worker = make_worker(store)
        claimed = worker.claim_one()
        said = Report(
            job=self.job,
            token=claimed.token,
            partials=[{"n": n} for n in range(3)],
            logs=[LogLine("first"), LogLine("second\x1b[2J", "warning")],
            artifacts=[Artifact("a.txt", "file:///a.txt", 12_345)],
        )
        store.report(worker.id, [said])


@pytest.fixture
def left(store: Store) -> Left:
    return Left(store)


def test_partial_results_are_printed_oldest_first(cli: Cli, left: Left) -> None:
    assert cli("job", "partials", "left").lines == ['{"n": 0}', '{"n": 1}', '{"n": 2}']
    assert cli("job", "partials", "left", "--tail", "1").lines == ['{"n": 2}']
    values = [it["value"] for it in cli("job", "partials", left.job, "--json").documents]
    assert values == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_the_log_of_a_job_is_printed_oldest_first(cli: Cli, left: Left) -> None:
    lines = cli("job", "log", "left").lines
    assert [line.split(maxsplit=1)[1] for line in lines] == [
        "info    first",
        "warning second\\x1b[2J",
    ]
    assert cli("job", "log", "left", "--tail", "1").lines == lines[1:]
    assert cli("job", "log", "left", "--json").documents[0]["line"] == "first"


def test_more_than_a_page_of_partials_is_printed_whole(cli: Cli, store: Store) -> None:
    job = make_job(store)
    promote(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    said = Report(job=job, token=claimed.token, partials=list(range(1005)))
    store.report(worker.id, [said])
    assert cli("job", "partials", job).lines == [str(n) for n in range(1005)]


def test_artifacts_are_listed(cli: Cli, left: Left, store: Store) -> None:
    listed = cli("job", "artifacts", "left")
    [row] = listed.rows
    assert (row[0], row[1], row[-1]) == ("a.txt", "12.3 kB", "file:///a.txt")
    assert [it["name"] for it in cli.json("job", "artifacts", "left")] == ["a.txt"]
    other = make_job(store)
    assert cli("job", "artifacts", other).out == f"job {other} has no artifacts\n"
    assert cli.json("job", "artifacts", other) == []
