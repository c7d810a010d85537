"""``tenure job list``."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job, make_job_in, make_worker, promote


def test_jobs_are_listed_newest_first(cli: Cli, store: Store) -> None:
    make_job_in(store, State.COMPLETED, task="first", owner="ada")
    make_job(store, "second", key="nightly", queue="crawl")
    done = cli("job", "list")
    assert done.code == 0
    assert " ".join(done.lines[0].split()) == "job key task status queue attempt owner enqueued"
    assert done.rows[0][:4] == ["2", "nightly", "second", "queued"]
    assert done.rows[1][0] == "1"
    assert "completed" in done.lines[2]
    assert "ada" in done.lines[2]
    assert [job["id"] for job in cli.json("job", "list")] == [2, 1]


def test_a_table_says_nothing_about_what_no_job_has(cli: Cli, store: Store) -> None:
    make_job(store)
    heads = cli("job", "list").lines[0].split()
    assert not {"key", "queue", "target", "progress"} & set(heads)


def test_nothing_to_list_is_a_sentence_and_an_empty_list(cli: Cli, store: Store) -> None:
    assert cli("job", "list").out == "no jobs\n"
    make_job(store)
    assert cli("job", "list", "--queue", "none").out == "no matching jobs\n"
    assert cli.json("job", "list", "--queue", "none") == []


@pytest.mark.parametrize(
    "words",
    [
        ["--queue", "crawl"],
        ["--task", "wanted"],
        ["--status", "queued"],
        ["--status", "queued", "--status", "failed"],
        ["--where", "status=queued", "--status", "failed"],
        ["--tag", "a", "--where", "tag=a"],
        ["--status", "queued", "--text", "{", "--text", "}"],
        ["--where", "owner=ada"],
        ["--where", "tag=a", "--where", "queue=crawl"],
        ["--where", "key=nightly"],
    ],
)
def test_jobs_are_chosen_by_what_they_are(cli: Cli, store: Store, words: list[str]) -> None:
    wanted = make_job(store, "wanted", queue="crawl", owner="ada", tags=["a"], key="nightly")
    promote(store)
    make_job(store, "other", run_at=None, delay=timedelta(hours=1))
    assert [job["id"] for job in cli.json("job", "list", *words)] == [wanted]


def test_the_tasks_of_a_job_are_chosen_by_its_key(cli: Cli, store: Store) -> None:
    mother = make_job(store, None, key="tree")
    child = make_job(store, parent=mother)
    make_job(store)
    assert [job["id"] for job in cli.json("job", "list", "--parent", "tree")] == [child]
    assert cli.json("job", "list", "--where", f"parent={mother}") == cli.json(
        "job", "list", "--parent", str(mother)
    )


def test_jobs_are_chosen_by_their_age(cli: Cli, store: Store, sql: psycopg.Connection) -> None:
    old, new = make_job(store), make_job(store)
    sql.execute(
        "UPDATE tenure.job SET created_at = created_at - interval '3h' WHERE id = %s", [old]
    )
    assert [job["id"] for job in cli.json("job", "list", "--since", "2h")] == [new]
    assert [job["id"] for job in cli.json("job", "list", "--until", "2h")] == [old]
    assert len(cli.json("job", "list", "--since", "2020-01-01T00:00Z")) == 2
    assert "3h ago" in cli("job", "list", "--until", "2h").out


def test_a_page_says_how_to_go_on(cli: Cli, store: Store) -> None:
    for _ in range(3):
        make_job(store)
    page = cli("job", "list", "--limit", "2")
    assert page.lines[-1] == "next page: --below 2"
    assert [job["id"] for job in cli.json("job", "list", "--below", "2")] == [1]


def test_progress_is_shown_in_percent(cli: Cli, store: Store) -> None:
    make_job(store)
    promote(store)
    worker = make_worker(store)
    job = worker.claim_one()
    store.report(worker.id, [Report(job=job.id, token=job.token, progress={"done": 3, "total": 8})])
    assert "38%" in cli("job", "list").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--limit", "0"], "--limit takes a number from 1 to 1000, not 0"),
        (["--where", "status"], "'status' is not a filter; write status=queued"),
        (["--where", "colour=red"], "jobs cannot be filtered by 'colour'"),
        (["--where", "parent=x"], "'x' is not the id of a job"),
        (["--since", "yesterday"], "--since: 'yesterday' is not a duration"),
        (["--since", "2030-13-01"], "is not a point in time"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(
    cli: Cli, words: list[str], said: str
) -> None:
    assert said in cli("job", "list", *words).sentence(2)
    assert said in cli("job", "list", *words, "--json").refusal(2)[1]


def test_a_text_that_would_move_the_terminal_is_shown_and_not_obeyed(
    cli: Cli, store: Store
) -> None:
    make_job(store, "work", key="evil\x1b[2Jkey")
    assert "evil\\x1b[2Jkey" in cli("job", "list").out
