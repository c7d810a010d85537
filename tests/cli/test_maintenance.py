"""Maintenance: workers, ``recover``, ``audit``, ``stats``, strategies and policies."""

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job, make_job_in, make_worker, promote


def test_workers_are_listed_with_what_they_hold(cli: Cli, store: Store) -> None:
    assert cli("worker", "list").out == "no workers\n"
    make_job(store)
    promote(store)
    worker = make_worker(store)
    worker.claim_one()
    [row] = cli("worker", "list").rows
    assert row[:6] == [str(worker.id)[:8], "test-host", "1", "alive", "all", "1"]
    [seen] = cli.json("worker", "list")
    assert (seen["id"], seen["jobs"][0]["job_id"]) == (str(worker.id), 1)


def test_workers_that_are_gone_are_listed_by_wish(cli: Cli, store: Store) -> None:
    worker = make_worker(store)
    store.leave(worker.id)
    assert cli("worker", "list").out == "no workers\n"
    assert "left" in cli("worker", "list", "--all").out


def test_a_worker_is_asked_to_leave_by_how_its_id_begins(cli: Cli, store: Store) -> None:
    worker = make_worker(store)
    done = cli("worker", "drain", str(worker.id)[:6].upper(), "--reason", "new version")
    assert done.out == f"Worker {worker.id} is draining; it holds no jobs.\n"
    assert store.workers()[0].status == "draining"
    assert cli.json("worker", "drain", str(worker.id))["worker_id"] == str(worker.id)
    assert "there is no live worker ''" in cli("worker", "drain", "").sentence(10)
    nobody = str(uuid4())
    assert f"there is no live worker '{nobody}'" in cli("worker", "drain", nobody).sentence(10)
    assert cli("worker", "drain", nobody, "--json").refusal(10)[0] == "NotFound"


def test_the_runners_of_a_job_are_listed_and_one_is_ended(cli: Cli, store: Store) -> None:
    make_job(store, key="nightly")
    worker = make_worker(store)
    job = worker.claim_one()
    about = {"tenant": "default", "kind": "async", "pid": 7, "jobs": {str(job.id): job.token}}
    [row] = cli("job", "runners", "nightly").rows
    assert row[0] == "known at the next heartbeat"
    store.renew(worker.id, runners={"runner-1": about})
    [row] = cli("job", "runners", "nightly").rows
    assert row[:6] == ["runner-1", "async", "test-host", "7", str(job.id), "0"]
    done = cli("worker", "end-runner", "runner-1", "--reason", "it leaks", "--grace", "8s")
    assert done.out == "Runner runner-1 is being ended; 1 job is handed over.\n"
    assert store.read_signals(worker.id).ending["runner-1"].grace == 8
    assert cli.json("worker", "end-runner", "runner-1", "--force")["jobs"] == [job.id]
    assert store.audit_log(n=1)[0].via == "cli"
    assert [it["ending"] for it in cli.json("job", "runners", "nightly")] == [True]
    assert "there is no runner 'none'" in cli("worker", "end-runner", "none").sentence(10)
    assert "--grace" in cli("worker", "end-runner", "runner-1", "--grace", "soon").sentence(2)


def test_jobs_of_dead_workers_are_taken_back(
    cli: Cli, store: Store, sql: psycopg.Connection
) -> None:
    assert cli("recover").out == "nothing to recover\n"
    job = make_job(store, key="lost")
    promote(store)
    worker = make_worker(store)
    worker.claim_one()
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1s'")
    dry = cli("recover", "--dry-run")
    assert dry.rows[0] == [str(job), "would be taken back", str(worker.id)]
    assert store.show(job).state is State.RUNNING
    done = cli("recover", "lost")
    assert done.lines[0].startswith(
        f"Worker {worker.id} on test-host is dead; its last heartbeat was "
    )
    assert done.lines[-1].split()[:2] == [str(job), "pending"]
    assert cli.json("recover")["recovered"] == []
    assert store.audit_log(n=1)[0].via == "cli"


def test_recovery_takes_the_settings_of_an_app(
    cli: Cli, store: Store, sql: psycopg.Connection, tmp_path: Path
) -> None:
    settings = 'pending_orphan_after="1m", orphan_message="orphan: left alone"'
    place = tmp_path / "apart.py"
    place.write_text(
        f"from tenure import Tenure\nfrom tenure.config import Settings\n"
        f"app = Tenure(settings=Settings({settings}))\n"
    )
    job = make_job(store)
    sql.execute("UPDATE tenure.job SET run_at = run_at - interval '1 hour'")
    assert cli("recover").out == "nothing to recover\n"
    done = cli("recover", "--app", f"{place}:app")
    assert done.rows == [[str(job), "failed: no worker started it"]]
    message = "orphan: left alone; no worker started it within 00:01:00"
    assert store.show(job).error_message == message


def test_who_was_away_declares_nobody_dead(cli: Cli, store: Store, sql: psycopg.Connection) -> None:
    cli("recover")
    make_worker(store)
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1s'")
    sql.execute("UPDATE tenure.last_sweep SET swept_at = clock_timestamp() - interval '1h'")
    done = cli("recover")
    assert done.lines[0].startswith(
        "No recovery ran for a while; workers will be declared dead in "
    )


def test_recovery_of_a_job_that_does_not_exist_is_refused(cli: Cli) -> None:
    assert "there is no job with the key 'none'" in cli("recover", "none").sentence(10)


def test_what_was_done_is_on_record_with_who_and_through_what(cli: Cli, store: Store) -> None:
    job = make_job(store)
    cli("job", "pause", job, "--reason", "lunch")
    cli("queue", "pause", "crawl", "--new")
    listed = cli("audit")
    assert [row[2:6] for row in listed.rows[:2]] == [
        ["db:postgres", "cli", "pause", "queue crawl"],
        ["db:postgres", "cli", "pause", f"job {job}"],
    ]
    assert "lunch" in listed.lines[2]
    assert [it["subject"] for it in cli.json("audit", "--job", job)] == ["job"]
    assert [it["name"] for it in cli.json("audit", "--subject", "queue")] == ["crawl"]
    page = cli("audit", "--limit", "1")
    newest, below = cli.json("audit", "--limit", "2")
    assert page.lines[-1] == f"next page: --below {newest['id']}"
    assert cli.json("audit", "--below", newest["id"])[0] == below
    assert cli("audit", "--subject", "pool").out == "no entries\n"
    assert "leave out --subject" in cli("audit", "--job", job, "--name", "x").sentence(2)


def test_jobs_are_counted_by_status(cli: Cli, store: Store) -> None:
    make_job_in(store, State.COMPLETED)
    make_job(store, queue="crawl")
    promote(store)
    told = cli("stats")
    assert told.rows[0] == ["queued", "1"]
    assert "2 jobs in 2 queues" in told.lines
    assert "0 recovered from dead workers, 0 late writes refused" in told.lines
    assert cli.json("stats")["by_status"] == {"completed": 1, "queued": 1}


def test_what_ended_lately_is_counted_by_queue(cli: Cli, store: Store) -> None:
    assert cli("stats", "--last", "24h").out == "no job ended\n"
    make_job_in(store, State.COMPLETED, queue="crawl")
    for state in (State.COMPLETED, State.FAILED):
        make_job_in(store, state, queue="mail", max_attempts=1)
    told = cli("stats", "--last", "6h")
    assert [row[:4] for row in told.rows[:3]] == [
        ["crawl", "1", "0", "0"],
        ["mail", "1", "1", "0"],
        ["all", "2", "1", "0"],
    ]
    assert told.lines[-1].endswith("one bar per 5m")
    assert "█" in told.lines[-1]
    seen = cli.json("stats", "--last", "1h", "--queue", "mail")
    assert (seen["total"]["failed"], [one["queue"] for one in seen["queues"]]) == (1, ["mail"])
    assert "--last" in cli("stats", "--queue", "mail").sentence(2)
    assert "15 minutes to 24 hours" in cli("stats", "--last", "9d").sentence(2)


def test_failures_run_times_and_leaks_are_shown_by_task(cli: Cli, store: Store) -> None:
    make_job_in(store, State.FAILED, task="crawl", max_attempts=1)
    make_job(store, "crawl")
    promote(store)
    worker = make_worker(store)
    leaking = worker.claim_one()
    worker.finish(leaking, cleanup={"failed": [{"name": "browser", "error": "no answer"}, "lock"]})
    [row] = cli("stats", "--tasks").rows
    assert row[:6] == ["crawl", "2", "1", "1", "0", "50.0"]
    assert "without --last" in cli("stats", "--tasks", "--last", "1h").sentence(2)
    text = cli("task", "show", "crawl").out
    assert "newest jobs  2: 1 completed, 1 failed, 0 cancelled" in text
    assert cli.json("task", "show", "crawl")["runs"]["failed"] == 1
    [row] = cli("job", "leaks").rows
    assert (row[0], row[1], row[-1]) == (str(leaking.id), "crawl", "browser: no answer, lock")
    cli("queue", "pause", "default", "--reason", "deploy")
    assert ": deploy" in cli("queue", "list").out


def test_a_strategy_is_made_changed_and_dropped(cli: Cli, store: Store) -> None:
    names = ["cooperative", "graceful", "immediate", "patient"]
    assert [row[0] for row in cli("strategy", "list").rows] == names
    words = ["strategy", "set", "gentle", "grace=120", "last_rung=interrupted"]
    assert cli(*words).out == "Strategy gentle is set.\n"
    [gentle] = [it for it in cli.json("strategy", "list") if it["name"] == "gentle"]
    assert gentle["options"]["last_rung"] == "interrupted"
    assert cli.json(*words)["name"] == "gentle"
    job = make_job(store)
    [record] = cli("job", "cancel", job, "--strategy", "gentle", "--json").documents
    assert record["grace"] == 120
    assert cli("strategy", "drop", "gentle").out == "Strategy gentle is dropped.\n"
    assert "gentle" in cli("strategy", "drop", "gentle").sentence(10)
    assert "speed" in cli("strategy", "set", "bad", "speed=1").sentence(2)
    assert cli("strategy", "set", "bad", "grace").sentence(2)


def test_a_policy_is_made_changed_and_dropped(cli: Cli, store: Store) -> None:
    assert cli("policy", "list").out == "no policies\n"
    words = ["policy", "set", "stale", "--where", "queue=crawl", "--when", "waiting=2h"]
    assert cli(*words, "--reason", "too late").out == "Policy stale is set.\n"
    [row] = cli("policy", "list").rows
    assert row[:5] == ["stale", "cancel", "queue=crawl", "waiting=2h", "0"]
    assert cli.json(*words, "--off", "--intent", "pause")["enabled"] is False
    assert cli("policy", "list").rows[0][1] == "pause"
    assert cli("policy", "list").lines[1].endswith("off")
    assert cli("policy", "drop", "stale").out == "Policy stale is dropped.\n"
    assert cli("policy", "drop", "stale", "--json").refusal(10)[0] == "NotFound"


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["--when", "moon=full"], "when has no 'moon'", 2),
        (["--when", "age=old"], "age: 'old' is not a duration", 2),
        (["--when", "age"], "'age' is not an argument", 2),
        (["--when", "age=1h", "--where", "colour=red"], "cannot be filtered by 'colour'", 2),
        (["--when", "age=1h", "--intent", "nap"], "'nap'", 2),
        ([], "issing option", 2),
    ],
)
def test_a_policy_that_makes_no_sense_is_told_in_a_sentence(
    cli: Cli, words: list[str], said: str, code: int
) -> None:
    assert said in cli("policy", "set", "odd", *words).sentence(code)
    assert said in cli("policy", "set", "odd", *words, "--json").refusal(code)[1]
