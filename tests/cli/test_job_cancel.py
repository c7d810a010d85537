"""``tenure job cancel`` and ``tenure job pause``, in the form that people know."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.store.outcomes import Artifact, Ending, Report
from tenure.store.store import Store
from tests.cli.running import Cli, golden, process
from tests.factories import Worker, make_job, make_job_in, make_jobs, make_worker, promote
from tests.workers import eventually


def told(text: str) -> str:
    """The same, without what the clock says."""
    return re.sub(r"(?m)^- Duration: .*$", "- Duration: 12.5s", text)


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do this in a thread; what goes wrong in it goes wrong here."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()
    if problems:
        raise problems[0]


class Workshop:
    """A job of eleven tasks: three are completed, three run, five wait."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.create_pool("repo", ["one", "two"])
        whole = NewJob(key="chat-app-implementation")
        parts = [
            NewJob(
                task="agent",
                parent="chat-app-implementation",
                queue="quick" if n < 6 else "slow",
                pools=["repo"] if 3 <= n < 5 else [],
                priority=6 - n if n < 6 else 0,
            )
            for n in range(11)
        ]
        make_jobs(store, [whole, *parts])
        self.worker = make_worker(store)
        claimed = [self.worker.claim_one(queues=["quick"]) for _ in range(6)]
        for place, job in enumerate(claimed):
            kept = [Artifact(f"{n}.txt", "file:///x", 1) for n in range(2 if place < 2 else 1)]
            store.report(self.worker.id, [Report(job=job.id, token=job.token, artifacts=kept)])
        for job in claimed[:3]:
            self.worker.finish(job)
        self.running = claimed[3:]

    def stop(self) -> None:
        """As a worker: see that they are to stop, and say that they have."""
        for job in self.running:
            eventually(lambda job=job: self.store.show(job.id).cancel_requested)  # type: ignore[misc]
        endings = [
            Ending(
                job=job.id,
                token=job.token,
                outcome="stopped",
                rung=Rung.INTERRUPTED,
                heard=True,
                runner=f"runner-{place}",
            )
            for place, job in enumerate(self.running)
        ]
        self.store.finish(self.worker.id, endings)
        promote(self.store)


@pytest.fixture
def workshop(store: Store) -> Workshop:
    return Workshop(store)


def test_a_cancel_shows_its_steps_and_what_it_came_to(cli: Cli, workshop: Workshop) -> None:
    with meanwhile(workshop.stop):
        done = cli("job", "cancel", "chat-app-implementation")
    assert (done.code, done.err) == (0, "")
    golden("cancel", told(done.out))


def test_a_cancel_without_utf_8_has_plain_ticks(database: str, store: Store) -> None:
    job = make_job(store, key="waiting")
    done = process(database, "job", "cancel", str(job), LC_ALL="C", PYTHONIOENCODING="ascii")
    assert done.code == 0, done.err
    golden("cancel-ascii", told(done.out))


def test_a_cancel_as_json_is_a_line_for_each_change(cli: Cli, workshop: Workshop) -> None:
    with meanwhile(workshop.stop):
        done = cli("job", "cancel", "chat-app-implementation", "--json", "--reason", "why not")
    assert (done.code, done.err) == (0, "")
    records = done.documents
    assert {record["cancellation_id"] for record in records} == {"cancel-000001"}
    assert {record["reason"] for record in records} == {"why not"}
    assert records[-1]["status"] == "completed"
    assert len(records[-1]["tasks_cancelled"]) == 8
    assert len(records[-1]["members"]) == 12


def test_no_wait_prints_what_is_known(cli: Cli, workshop: Workshop) -> None:
    done = cli("job", "cancel", "chat-app-implementation", "--no-wait")
    assert done.code == 0
    golden("cancel-no-wait", told(done.out))
    again = cli("job", "cancel", "chat-app-implementation", "--no-wait")
    assert "Already requested: by db:" in again.out
    assert "Cancellation ID: cancel-000001" in again.out
    [record] = cli("job", "cancel", "chat-app-implementation", "--no-wait", "--json").documents
    assert record["status"] == "stopping_runners"
    workshop.stop()
    golden("cancel-status", told(cli("job", "cancel-status", "chat-app-implementation").out))


def test_a_cancel_that_could_not_be_confirmed_is_partial(cli: Cli, store: Store) -> None:
    make_job(store, key="browser")
    promote(store)
    worker = make_worker(store)
    claimed = worker.claim_one()

    def stop() -> None:
        eventually(lambda: store.show(claimed.id).cancel_requested)
        failed = [{"name": "chrome", "error": "it is still there"}]
        ending = Ending(
            job=claimed.id,
            token=claimed.token,
            outcome="stopped",
            rung=Rung.KILLED,
            heard=True,
            runner="runner-1",
            cleanup={"failed": failed},
        )
        store.finish(worker.id, [ending])
        promote(store)

    with meanwhile(stop):
        done = cli("job", "cancel", "browser")
    assert (done.code, done.err) == (15, "")
    golden("cancel-partial", told(done.out))


def test_a_step_that_failed_has_a_cross_and_its_error(cli: Cli, workshop: Workshop) -> None:
    cli("job", "cancel", "chat-app-implementation", "--no-wait")
    store = workshop.store
    store.step("cancel-000001", "terminate_runners", "failed", error="process 4711 is in D state")
    store.close_record("cancel-000001", "partial", error="one process cannot be killed")
    done = cli("job", "cancel-status", "chat-app-implementation")
    assert done.code == 0
    golden("cancel-failed-step", told(done.out))


def test_a_pause_is_told_in_the_same_form(cli: Cli, store: Store) -> None:
    job = make_job(store)
    done = cli("job", "pause", job)
    assert done.code == 0
    golden("pause", told(done.out))
    assert store.show(job).state is State.PAUSED
    [record] = cli("job", "pause", make_job(store), "--json", "--reason", "later").documents
    assert (record["intent"], record["reason"]) == ("pause", "later")


def test_waiting_ends_at_the_timeout_and_the_stop_continues(cli: Cli, workshop: Workshop) -> None:
    done = cli("job", "cancel", "chat-app-implementation", "--timeout", "100ms")
    assert done.code == 14
    assert done.err == (
        "tenure: cancel-000001 is stopping_runners after 100ms of waiting; it continues\n"
    )
    workshop.stop()
    assert cli("job", "cancel-status", "chat-app-implementation").lines[-1] == "Status: COMPLETED"


def test_options_of_a_stop_are_on_its_record(cli: Cli, workshop: Workshop) -> None:
    words = ["--grace", "10s", "--no-cascade", "--force", "--no-wait", "--json"]
    [record] = cli("job", "cancel", "chat-app-implementation", *words).documents
    assert (record["grace"], record["cascade"], record["force"]) == (10.0, False, True)


def test_a_strategy_says_how(cli: Cli, workshop: Workshop) -> None:
    words = ["--strategy", "patient", "--no-wait", "--json"]
    [record] = cli("job", "cancel", "chat-app-implementation", *words).documents
    assert record["last_rung"] == "interrupted"
    assert "'none'" in cli("job", "cancel", make_job(workshop.store), "--strategy", "none").err


def test_one_task_of_a_job_is_cancelled(cli: Cli, workshop: Workshop) -> None:
    task = workshop.running[-1].id + 1
    done = cli("job", "cancel", "chat-app-implementation", "--task", task, "--no-cascade")
    assert done.code == 0
    assert f"Task: {task}\n" in done.out
    assert workshop.store.show(task).state is State.CANCELLED
    assert workshop.store.show(1).state is State.PENDING


def test_a_task_of_another_job_is_refused(cli: Cli, workshop: Workshop) -> None:
    other = make_job(workshop.store)
    done = cli("job", "cancel", "chat-app-implementation", "--task", other)
    assert done.sentence(10) == f"job 1 has no task {other}"
    assert cli.json("job", "cancellations") == []


@pytest.mark.parametrize(
    ("verb", "state"),
    [
        *product(["cancel", "pause"], [State.COMPLETED, State.FAILED]),
        ("pause", State.CANCELLED),
    ],
)
def test_stopping_an_ended_job_is_refused_and_writes_no_record(
    cli: Cli, store: Store, verb: str, state: State
) -> None:
    job = make_job_in(store, state)
    before = cli.json("job", "cancellations")
    refused = cli("job", verb, job)
    assert refused.sentence(11) == f"cannot {verb} a job that is {state}"
    assert refused.out == ""
    assert cli("job", verb, job, "--json").refusal(11)[0] == "IllegalTransition"
    assert cli.json("job", "cancellations") == before


def test_cancelling_again_answers_with_the_same_record(cli: Cli, store: Store) -> None:
    job = make_job(store)
    first, again = cli("job", "cancel", job), cli("job", "cancel", job)
    assert (first.code, again.code) == (0, 0)
    assert "Already requested" not in first.out
    assert "Already requested" in again.out
    assert "Cancellation ID: cancel-000001" in again.out
    assert len(store.cancellations()) == 1


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["77"], "there is no job 77", 10),
        (["nobody"], "there is no job with the key 'nobody'", 10),
        ([], "name a job by its id or key, or choose jobs with --where", 2),
        (["1", "--grace", "soon"], "--grace: 'soon' is not a duration", 2),
        (["1", "--timeout", "5"], "--timeout: '5' has no unit", 2),
        (["1", "--where", "queue=a"], "--where chooses the jobs; leave out the job", 2),
        (["1", "--reason", ""], "the reason of a stop is empty", 2),
        (["1", "--at", "noon"], "--at: 'noon' is not a point in time", 2),
        (["1", "--at", "2090-01-01T12:00Z", "--force"], "takes --reason and --strategy", 2),
    ],
)
def test_what_cannot_be_cancelled_is_told_in_a_sentence(
    cli: Cli, store: Store, words: list[str], said: str, code: int
) -> None:
    make_job(store)
    assert said in cli("job", "cancel", *words).sentence(code)
    assert said in cli("job", "cancel", *words, "--json").refusal(code)[1]


def test_a_cancel_at_a_time_is_a_policy(cli: Cli, store: Store) -> None:
    job = make_job(store)
    done = cli("job", "cancel", job, "--at", "2090-01-01T12:00Z", "--reason", "year's end")
    assert done.code == 0
    assert done.lines[0].startswith(f"Job {job} will be cancelled in ")
    assert done.lines[1] == f"To undo this: tenure policy drop cancel-at:{job}"
    assert cli("policy", "drop", f"cancel-at:{job}").code == 0


def test_cancellations_are_listed_newest_first(cli: Cli, store: Store) -> None:
    for n in range(12):
        store.stop(make_job(store), reason=f"number {n}", by="ada")
    assert len(cli.json("job", "cancellations")) == 10
    listed = cli("job", "cancellations", "--limit", "2", "--offset", "1")
    assert [row[0] for row in listed.rows] == ["cancel-00000b", "cancel-00000a"]
    assert "number 10" in listed.lines[1]
    assert "ada" in listed.lines[1]
    assert "--offset takes 0 or more" in cli("job", "cancellations", "--offset", "-1").sentence(2)


def test_no_cancellations_are_a_sentence(cli: Cli, store: Store) -> None:
    assert cli("job", "cancellations").out == "no cancellations\n"
    job = make_job(store)
    assert cli("job", "cancel-status", job).code == 10


def test_a_cancel_of_a_job_that_pauses_says_so(cli: Cli, store: Store) -> None:
    job = make_job(store, options={"cancel_pauses": True})
    done = cli("job", "cancel", job)
    assert done.lines[0] == f"Pausing job: {job}"
    assert "- Job: paused" in done.lines


def test_a_rollback_undoes_what_was_completed(
    cli: Cli, store: Store, sql: psycopg.Connection
) -> None:
    whole = make_job(store, None)
    make_job(store, parent=whole)
    make_job(store, parent=whole)
    promote(store)
    worker: Worker = make_worker(store)
    worker.finish(worker.claim_one())
    [record] = cli("job", "cancel", whole, "--json").documents
    done = cli("job", "rollback", record["cancellation_id"])
    assert done.code == 0, done.err
    [undoing] = [job for job in store.list_jobs() if job.task == "tenure.rollback"]
    assert done.out == f"Job {undoing.id} performs the rollback.\n"
    assert "cancel-000099" in cli("job", "rollback", "cancel-000099").sentence(10)
    assert "not the id of a task" in cli("job", "rollback", "cancel-000001", "--task", "x").err


def test_the_intent_of_a_cancel_is_not_changed_by_a_pause(cli: Cli, workshop: Workshop) -> None:
    workshop.store.stop(1, intent=Intent.CANCEL)
    assert "cannot pause a job that is cancelling" in cli("job", "pause", 1).sentence(11)
