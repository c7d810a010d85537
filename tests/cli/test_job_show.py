"""``tenure job show`` and ``tenure job explain``."""

import pytest

from tenure.domain.job import RESULT_ARTIFACT, NewJob
from tenure.domain.lifecycle import State
from tenure.store.outcomes import Artifact, Report
from tenure.store.store import Store
from tests.cli.running import Cli, terminal
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote


def test_a_page_tells_all_that_is_known_of_a_job(cli: Cli, store: Store) -> None:
    store.create_pool("trees", ["one"])
    job = make_job(
        store,
        "crawl",
        key="nightly",
        owner="ada",
        queue="slow",
        priority=3,
        args={"site": "a", "deep": {"n": 1}},
        target="site:a",
        tags=["x"],
        budget={"tokens": 10},
        pools=["trees"],
    )
    promote(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    said = Report(
        job=job,
        token=claimed.token,
        progress={"done": 1, "total": 4, "message": "page 1"},
        checkpoint={"at": 1},
        partials=[{"found": 1}],
        artifacts=[Artifact(name="a.txt", url="file:///a.txt", size=2048)],
        spent={"tokens": 4},
    )
    store.report(worker.id, [said])
    page = cli("job", "show", "nightly")
    assert page.code == 0
    assert page.lines[0] == "Job 1 nightly running"
    for line in (
        "  task        crawl",
        "  queue       slow, priority 3",
        "  owner       ada",
        "  tags        x",
        "  target      site:a",
        "  slots       trees/one",
        "  attempt     1 of 4",
        "  progress    25% page 1",
        "  spent       4 tokens of 10",
        "  partials    1 (tenure job partials 1)",
        'site = "a"',
        'deep = {"n": 1}',
        '{"at": 1}',
        "a.txt  2.0 kB  file:///a.txt",
    ):
        assert line in page.out, page.out
    assert f"  worker      {worker.id}, lease ends in" in page.out
    shown = cli.json("job", "show", "1")
    assert (shown["id"], shown["status"], shown["checkpoint"]) == (1, "running", {"at": 1})


def test_a_failed_job_shows_its_error_and_its_attempts(cli: Cli, store: Store) -> None:
    make_job(store, max_attempts=2)
    promote(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "retry", error={"type": "IOError", "message": "first"})
    promote(store)
    error = {"type": "ValueError", "message": "no", "traceback": "Traceback:\n  File x\n"}
    worker.finish(worker.claim_one(), "failed", error=error)
    page = cli("job", "show", "1").out
    assert "Job 1 failed" in page
    assert "  ValueError: no\n  Traceback:\n    File x\n" in page
    assert "1. failed after 0.0s: first" in page
    assert "2. failed after 0.0s: no" in page


def test_who_stopped_it_and_why_is_on_the_page(cli: Cli, store: Store) -> None:
    job = make_job(store)
    store.stop(job, reason="customer left", by="ada")
    assert "stopped by  ada: customer left (cancel-000001)" in cli("job", "show", job).out


def test_the_result_of_a_completed_job_is_on_the_page(cli: Cli, store: Store) -> None:
    job = make_job_in(store, State.COMPLETED)
    page = cli("job", "show", job)
    assert 'Result\n  {"answer": 42}\n' in page.out
    assert "worker" not in page.out


def test_where_a_large_result_is_is_on_the_page(cli: Cli, store: Store) -> None:
    job = make_job(store)
    promote(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one(), stored=RESULT_ARTIFACT)
    assert f"Result\n  in its artifact {RESULT_ARTIFACT}\n" in cli("job", "show", job).out
    assert cli.json("job", "show", str(job))["result_artifact"] == RESULT_ARTIFACT


def test_the_tasks_of_a_job_are_a_tree(cli: Cli, store: Store) -> None:
    jobs = make_jobs(
        store,
        [
            NewJob(key="whole"),
            NewJob(task="crawl", key="left", parent="whole"),
            NewJob(task="leaf", parent="left"),
            NewJob(task="index", key="right", parent="whole"),
        ],
    )
    page = cli("job", "show", "whole").out
    tree = page.partition("Children\n")[2].splitlines()
    assert [line.split()[-2:] for line in tree] == [
        ["left", "queued"],
        ["leaf", "queued"],
        ["right", "queued"],
    ]
    assert tree[1].index("leaf") > tree[0].index("left")
    below = cli("job", "show", jobs["left"]).out.partition("Children\n")[2]
    assert "leaf" in below
    assert "right" not in below


def test_a_tree_too_large_to_show_says_so(cli: Cli, store: Store) -> None:
    whole = make_job(store, None)
    store.enqueue_many(NewJob(task="work", parent=whole), [{"n": n} for n in range(230)])
    tree = cli("job", "show", whole).out.partition("Children\n")[2].splitlines()
    assert len(tree) == 201
    assert "30 or more" in tree[-1]


def test_why_a_job_is_not_running_is_told_in_sentences(cli: Cli, store: Store) -> None:
    first = make_job(store)
    second = make_job(store, after=[first])
    promote(store)
    told = cli("job", "explain", second)
    assert told.lines[0] == f"Job {second} is waiting:"
    assert f"- it comes after job {first}, which is queued" in told.lines
    assert {it["reason"] for it in cli.json("job", "explain", second)["reasons"]} >= {"dependency"}


def test_nothing_is_to_be_explained_about_a_job_that_is_over(cli: Cli, store: Store) -> None:
    job = make_job_in(store, State.COMPLETED)
    assert cli("job", "explain", job).out == f"Job {job} is completed.\n"


@pytest.mark.parametrize("verb", ["show", "explain", "watch", "artifacts", "partials", "log"])
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("77", "there is no job 77"),
        ("9" * 30, "there is no job 999"),
        ("nobody", "there is no job with the key 'nobody'"),
    ],
)
def test_a_job_that_does_not_exist_is_told_in_a_sentence(
    cli: Cli, verb: str, named: str, said: str
) -> None:
    assert said in cli("job", verb, named).sentence(10)
    kind, message = cli("job", verb, named, "--json").refusal(10)
    assert (kind, said in message) == ("JobNotFound", True)


def test_a_job_without_a_name_is_refused(cli: Cli) -> None:
    assert "this is empty" in cli("job", "show", "").sentence(2)
    missing = cli("job", "show")
    assert missing.sentence(2).endswith("see tenure job show --help")


def test_a_page_is_as_wide_as_the_terminal_and_100_columns_where_there_is_none(
    cli: Cli, database: str, store: Store
) -> None:
    job = make_job(
        store, "a" * 150, queue="q" * 150, args={"text": "word " * 100, "long": "x" * 300}
    )
    make_job(store, "b" * 200, parent=job)
    promote(store)
    for words in (["job", "show", str(job)], ["top", "--once"]):
        piped = cli(*words)
        assert 60 < max(map(len, piped.lines)) <= 100, words
        with terminal(database, *words, width=70) as shown:
            assert shown.ends() == 0
            assert max(map(len, shown.text.splitlines())) <= 70, words
    page = "".join(line.strip() for line in cli("job", "show", job).lines)
    assert "x" * 300 in page, "nothing is cut"
