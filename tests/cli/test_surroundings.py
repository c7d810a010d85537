"""What jobs stand in: ``tenure queue``, ``target``, ``pool``, ``tenant``."""

import pytest

from tenure.domain.lifecycle import Intent, State
from tenure.domain.tenant import Tenant
from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job, make_job_in, make_worker, promote


def test_queues_are_listed_with_what_is_in_them(cli: Cli, store: Store) -> None:
    assert cli("queue", "list").out == "no queues: no job has been enqueued yet\n"
    make_job_in(store, State.COMPLETED)
    make_job(store, queue="crawl")
    promote(store)
    cli("queue", "pause", "crawl")
    listed = cli("queue", "list")
    assert listed.lines[0].split() == ["queue", "queued", "completed", "oldest"]
    assert listed.rows[0] == ["crawl", "1", "0s", "paused by db:postgres"]
    assert cli.json("queue", "list")["crawl"]["paused"] is True


@pytest.mark.parametrize("subject", ["queue", "target"])
def test_a_queue_or_target_is_paused_and_resumed(cli: Cli, store: Store, subject: str) -> None:
    named = subject.capitalize()
    make_job(store, **{subject: "a"})
    assert cli(subject, "pause", "a", "--reason", "down").out == f"{named} a is paused.\n"
    assert cli(subject, "pause", "a").out == f"{named} a is already paused.\n"
    assert store.audit_log(subject, "a")[0].reason == "down"
    assert cli(subject, "resume", "a").out == f"{named} a is resumed.\n"
    assert cli(subject, "resume", "a").out == f"{named} a was not paused.\n"
    assert cli.json(subject, "pause", "a") == {"paused": True}
    assert cli.json(subject, "resume", "a") == {"resumed": True}
    assert "with its name" in cli(subject, "pause", "").sentence(2)


def test_targets_are_listed_with_who_holds_and_who_waits(cli: Cli, store: Store) -> None:
    assert cli("target", "list").out == "no targets\n"
    first = make_job(store, target="site:a")
    promote(store)
    second = make_job(store, target="site:a")
    promote(store)
    [row] = cli("target", "list").rows
    assert row == ["site:a", str(first), "1", str(second)]
    [seen] = cli.json("target", "list", "site:a")
    assert (seen["holder"], seen["line"], seen["next"]) == (first, 1, second)
    assert "--limit takes" in cli("target", "list", "--limit", "0").sentence(2)


def test_all_failed_jobs_of_a_target_are_given_up_if_somebody_says_so(
    cli: Cli, store: Store
) -> None:
    job = make_job_in(store, State.FAILED, target="site:a")
    assert cli("target", "clear", "site:a").sentence(2) == (
        "This would cancel all failed jobs of site:a, which unblocks it. "
        "Not a terminal, so there is no prompt: pass --yes to confirm"
    )
    assert store.show(job).state is State.FAILED
    assert cli("target", "clear", "site:a", "--yes").out == f"Cleared {job}.\n"
    assert store.show(job).state is State.CANCELLED
    assert cli("target", "clear", "site:a", "-y").out == "No job had failed.\n"
    assert cli.json("target", "clear", "site:a", "--yes") == {"cleared": []}


def test_a_pool_is_made_and_changed(cli: Cli, store: Store) -> None:
    assert cli("pool", "list").out == "no pools\n"
    assert cli("pool", "create", "trees", "one", "two").out == "Pool trees: 2 slots, 2 free.\n"
    assert "there is a pool 'trees' already" in cli("pool", "create", "trees").sentence(11)
    assert cli("pool", "add-slot", "trees", "three").out == "Pool trees: 3 slots, 3 free.\n"
    assert cli("pool", "remove-slot", "trees", "one", "two").code == 0
    [pool] = cli.json("pool", "list", "trees")
    assert [slot["name"] for slot in pool["slots"]] == ["three"]
    assert "there is no pool 'none'" in cli("pool", "add-slot", "none", "x").sentence(10)
    assert cli("pool", "add-slot", "none", "x", "--json").refusal(10)[0] == "NotFound"


def test_a_slot_is_taken_from_who_holds_it_and_does_not_run(cli: Cli, store: Store) -> None:
    cli("pool", "create", "trees", "one")
    job = make_job(store, pools=["trees"])
    promote(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    [row] = cli("pool", "list").rows
    assert row[:3] == ["trees", "one", str(job)]
    assert "stop it first" in cli("pool", "release", "trees", "one").sentence(11)
    assert "job 1 holds a slot" in cli("pool", "remove-slot", "trees", "one").sentence(11)
    store.stop(job, intent=Intent.PAUSE)
    worker.finish(claimed, "stopped", heard=True)
    assert cli("pool", "release", "trees", "one").out == "Pool trees: 1 slot, 1 free.\n"
    assert "there is no slot 'two'" in cli("pool", "release", "trees", "two").sentence(10)


@pytest.mark.fresh_database
def test_a_tenant_is_made_paused_and_dropped(cli: Cli, database: str) -> None:
    assert cli("tenant", "create", "acme").out == "Tenant acme is created.\n"
    assert cli.json("tenant", "create", "acme") == {"name": "acme", "created": False}
    assert [row[0] for row in cli("tenant", "list").rows] == ["acme", "default"]
    with Store(database, Tenant("acme")) as store:
        make_job(store, "theirs")
    assert [it["task"] for it in cli.json("job", "list", "--tenant", "acme")] == ["theirs"]
    assert cli.json("job", "list") == []
    assert cli("tenant", "pause", "acme", "--reason", "unpaid").out == "Tenant acme is paused.\n"
    assert cli.json("tenant", "list")[0]["paused"] is True
    assert cli("tenant", "resume", "acme").out == "Tenant acme is resumed.\n"
    assert "pass --yes to confirm" in cli("tenant", "drop", "acme").sentence(2)
    assert cli("tenant", "drop", "acme", "--yes").out == "Tenant acme is dropped.\n"
    assert "there is no tenant 'acme'" in cli("tenant", "drop", "acme", "--yes").sentence(10)
    assert [it["name"] for it in cli.json("tenant", "list")] == ["default"]
    rows = cli.json("audit", "--subject", "tenant", "--name", "acme")
    assert [(row["verb"], row["via"]) for row in rows] == [("drop", "cli"), ("create", "cli")]


@pytest.mark.fresh_database
def test_a_tenant_whose_jobs_run_is_dropped_by_force_alone(cli: Cli, database: str) -> None:
    cli("tenant", "create", "acme")
    with Store(database, Tenant("acme")) as store:
        make_job_in(store, State.RUNNING)
    assert "workers hold 1 jobs" in cli("tenant", "drop", "acme", "--yes").sentence(11)
    assert cli("tenant", "drop", "acme", "--yes", "--force", "--json").document == {
        "dropped": "acme"
    }


def test_the_default_tenant_and_impossible_names_are_refused(cli: Cli) -> None:
    assert "cannot be dropped" in cli("tenant", "drop", "default", "--yes").sentence(2)
    assert "cannot be the name of a tenant" in cli("tenant", "create", "Acme").sentence(2)
    assert cli("job", "list", "--tenant", "nobody").sentence(10) == "there is no tenant 'nobody'"
