"""``tenure job watch``, where nothing may move: lines, and lines of JSON."""

import json

import pytest

from tenure.domain.lifecycle import State
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.cli.running import Cli, piped
from tests.factories import announce, make_job, make_job_in, make_worker, promote


class Going:
    """A running job that tells how far it is."""

    def __init__(self, store: Store) -> None:
        make_job(store, "crawl")
        promote(store)
        self.worker = make_worker(store)
        self.job = self.worker.claim_one()

    def tell(self, done: int) -> None:
        progress = {"done": done, "total": 2, "message": f"page {done}"}
        said = Report(job=self.job.id, token=self.job.token, progress=progress)
        self.worker.store.report(self.worker.id, [said])


@pytest.fixture
def going(store: Store) -> Going:
    return Going(store)


def test_a_job_is_followed_in_lines_to_its_end(database: str, going: Going) -> None:
    with piped(database, "job", "watch", "1") as watching:
        for page, far in ((1, "50%"), (2, "100%")):
            going.tell(page)
            watching.shows(f"running {far} page {page}\n")
        going.worker.finish(going.job, value={"pages": 2})
        assert watching.ends() == 0
    lines = watching.text.splitlines()
    assert lines[-2].startswith("Job 1 is completed after ")
    assert lines[-1] == '{"pages": 2}'
    assert len(lines) == len(set(lines)), "a line is printed twice"


def test_a_stream_of_json_ends_with_the_job(database: str, going: Going) -> None:
    with piped(database, "job", "watch", "1", "--json") as watching:
        going.tell(1)
        watching.shows('"message":"page 1"')
        going.worker.finish(going.job, "failed", error={"type": "ValueError", "message": "no"})
        assert watching.ends() == 1
    jobs = [json.loads(line) for line in watching.text.splitlines()]
    assert {job["id"] for job in jobs} == {1}
    assert jobs[0]["status"] == "running"
    assert (jobs[-1]["status"], jobs[-1]["error_message"]) == ("failed", "no")


def test_wait_follows_what_was_enqueued(database: str, store: Store) -> None:
    announce(database, "crawl")
    with piped(database, "job", "enqueue", "crawl", "--wait") as watching:
        watching.shows("Enqueued job 1.\n")
        worker = make_worker(store)
        worker.finish(worker.claim_one(), value=3)
        assert watching.ends() == 0
    assert watching.text.endswith("\n3\n")


@pytest.mark.parametrize(
    ("state", "code", "said"),
    [
        (State.COMPLETED, 0, '{"answer": 42}'),
        (State.FAILED, 1, "no"),
        (State.CANCELLED, 1, "User requested cancellation"),
    ],
)
def test_a_job_that_is_over_is_told_at_once(
    cli: Cli, store: Store, state: State, code: int, said: str
) -> None:
    job = make_job_in(store, state)
    done = cli("job", "watch", job)
    assert done.code == code
    verb = "has" if state is State.FAILED else "is"
    assert f"Job {job} {verb} {state}" in done.lines[0]
    assert said in done.lines[1]
