"""``tenure job cancel --where``: counted first, asked for, then one operation with its progress."""

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job, make_job_in, promote


@pytest.fixture
def crowd(store: Store) -> Store:
    make_job_in(store, State.COMPLETED, queue="crawl")
    store.enqueue_many(NewJob(task="work", queue="crawl"), [{"n": n} for n in range(120)])
    make_job(store, queue="mail")
    promote(store)
    return store


def test_many_jobs_are_counted_and_nothing_is_done_without_a_yes(cli: Cli, crowd: Store) -> None:
    done = cli("job", "cancel", "--where", "queue=crawl")
    assert done.sentence(2) == (
        "This cancels 120 jobs and all jobs below for good: 120 not running now stop at once. "
        "Not a terminal, so there is no prompt: pass --yes to confirm"
    )
    assert done.rows[0] == ["completed", "1"]
    assert done.rows[1] == ["queued", "120"]
    assert "1 of them" in done.lines[3]
    assert crowd.statistics().by_status["queued"] == 121


def test_many_jobs_are_stopped_in_one_operation(cli: Cli, crowd: Store) -> None:
    done = cli("job", "cancel", "--where", "queue=crawl", "--yes", "--reason", "moved away")
    assert (done.code, done.err) == (0, "")
    assert "Bulk cancel 1: 120 of 120 jobs were asked to stop." in done.lines
    assert done.lines[-1] == "Status: COMPLETED"
    assert crowd.statistics().by_status == {"cancelled": 120, "completed": 1, "queued": 1}
    assert crowd.cancellations(1)[0].reason == "moved away"
    [row] = cli("job", "bulks").rows
    assert row[:5] == ["1", "cancel", "queue=crawl", "completed", "120 of 120"]
    assert cli.json("job", "bulks")[0]["done"] == 120


def test_a_bulk_stop_as_json_is_a_line_for_each_batch(cli: Cli, crowd: Store) -> None:
    done = cli("job", "cancel", "--where", "queue=crawl", "--yes", "--json")
    assert (done.code, done.err) == (0, "")
    counts = [bulk["done"] for bulk in done.documents]
    assert counts == sorted(counts)
    assert counts[-1] == 120
    assert len(counts) > 1, "it was done in batches"


def test_without_waiting_the_workers_carry_it_on(cli: Cli, crowd: Store) -> None:
    done = cli("job", "cancel", "--where", "queue=crawl", "--yes", "--no-wait")
    assert done.code == 0
    assert done.lines[-1] == "Status: RUNNING"
    [bulk] = cli("job", "cancel", "--where", "queue=mail", "-y", "--no-wait", "--json").documents
    assert (bulk["id"], bulk["status"]) == (2, "running")


def test_what_matches_nothing_needs_no_yes(cli: Cli, crowd: Store) -> None:
    assert cli("job", "cancel", "--where", "queue=none").out == "No job matches.\n"
    only_over = cli("job", "cancel", "--where", "status=completed")
    assert only_over.code == 0
    assert "1 of them stay unchanged" in only_over.out
    [preview] = cli("job", "cancel", "--where", "queue=none", "--json").documents
    assert preview["reaches"] == 0
    assert cli("job", "bulks").out == "no bulk operations\n"


def test_many_jobs_are_paused_resumed_and_run_again(cli: Cli, crowd: Store) -> None:
    chosen = ("--where", "queue=crawl", "--yes", "--reason", "new site")
    paused = cli("job", "pause", *chosen)
    assert "Bulk pause 1: 120 of 120 jobs were asked to pause." in paused.lines
    assert crowd.statistics().by_status["paused"] == 120
    refused = cli("job", "resume", "--where", "queue=crawl").sentence(2)
    assert refused.startswith("This resumes 120 jobs: each continues from where they stopped. ")
    done = cli("job", "resume", *chosen)
    assert (done.code, done.err) == (0, "")
    assert "Bulk resume 2: 120 of 120 jobs were resumed." in done.lines
    assert crowd.statistics().by_status["queued"] == 121
    asked = cli("job", "rerun", "--where", "queue=crawl").sentence(2)
    assert asked.startswith("This enqueues 1 job again, with the same arguments and options. ")
    [*_, bulk] = cli("job", "rerun", *chosen, "--json").documents
    assert (bulk["intent"], bulk["done"], bulk["reason"]) == ("rerun", 1, "new site")
    assert [row[1] for row in cli("job", "bulks").rows] == ["rerun", "resume", "pause"]


def test_several_jobs_are_named_and_changed_in_one_operation(cli: Cli, store: Store) -> None:
    jobs = [make_job(store, key=f"k{n}") for n in range(4)]
    promote(store)
    named = ("k0", str(jobs[1]), "k2")
    asked = cli("job", "pause", *named).sentence(2)
    assert asked.startswith("This pauses 3 jobs and all jobs below; they can be resumed")
    paused = cli("job", "pause", *named, "--yes", "--reason", "at night")
    assert "Bulk pause 1: 3 of 3 jobs were asked to pause." in paused.lines
    assert store.bulk(1).filter == {"id": jobs[:3]}
    by_id = [word for job in jobs[:2] for word in ("--where", f"id={job}")]
    assert "2 of 2 jobs were resumed." in cli("job", "resume", *by_id, "--yes").out
    assert "2 of 2 jobs were asked to stop." in cli("job", "cancel", *named[1:], "-y").out
    assert "2 of 2 jobs were enqueued again." in cli("job", "rerun", *named[1:], "-y").out
    assert store.show(jobs[3]).status == "queued"
    roots = cli.json("job", "list", "--where", "parent=none")
    assert len(roots) == 6


@pytest.mark.parametrize("verb", ["pause", "resume", "rerun"])
def test_a_job_or_jobs_are_named_and_not_both(cli: Cli, verb: str) -> None:
    assert "name a job" in cli("job", verb).sentence(2)
    assert "leave out the job" in cli("job", verb, "1", "--where", "queue=a").sentence(2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--where", "colour=red"], "jobs cannot be filtered by 'colour'"),
        (["--where", "queue"], "'queue' is not a filter"),
        (["--where", "queue=a", "--task", "1"], "--task and --at are for one job"),
        (["1", "2", "--at", "2090-01-01T12:00Z"], "--task and --at are for one job"),
        (["--where", "id=1", "--where", "id=x"], "'x' is not the id of a job"),
    ],
)
def test_what_cannot_be_chosen_is_told_in_a_sentence(cli: Cli, words: list[str], said: str) -> None:
    assert said in cli("job", "cancel", *words).sentence(2)
    assert said in cli("job", "cancel", *words, "--json").refusal(2)[1]
