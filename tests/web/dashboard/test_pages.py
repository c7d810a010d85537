"""What each page shows, and what its forms do."""

from datetime import timedelta

import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.job import RESULT_ARTIFACT, NewJob
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.domain.principal import Role
from tenure.store.outcomes import Artifact, Report
from tenure.store.store import Store
from tenure.web import create_app
from tests.apps.paged import app as paged
from tests.factories import end_as_stopped, make_job, make_job_in, make_worker, promote
from tests.web.dashboard.visitor import Visitor, actions, said, tags
from tests.web.http_client import asking


def ids(text: str) -> list[int]:
    """Return the ids of the listed jobs, in order."""
    rows = [told for tag, told in tags(text) if tag == "tr" and "data-key" in told]
    return [int(told["data-key"]) for told in rows]


def next_page(text: str) -> str:
    [path] = [told["href"] for tag, told in tags(text) if told.get("rel") == "next"]
    return path


def test_a_page_shows_so_many_queues_and_says_how_many_are_left_out(
    root: Visitor, store: Store
) -> None:
    """Any caller who may enqueue can create thousands of queue names."""
    queues = ["z-busy", *(f"q{number:03}" for number in range(249))]
    store.enqueue([NewJob(task="work", queue=queue) for queue in [*queues, "z-busy"]])
    for path in ("/queues", "/"):
        text = root.sees(path)
        keys = [told.get("data-key") for tag, told in tags(text) if tag == "tr"]
        rows = [key for key in keys if key in queues]  # other tables have rows, too
        assert len(rows) == 200
        assert rows == sorted(rows)
        assert "z-busy" in rows
        assert "50 more queues, those with the fewest jobs, are not shown" in text


def test_a_large_result_is_a_link(root: Visitor, store: Store) -> None:
    job = make_job(store)
    promote(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one(), stored=RESULT_ARTIFACT)
    text = root.sees(f"/jobs/{job}")
    assert f"stored as the artifact {RESULT_ARTIFACT}" in said(text)
    links = [told["href"] for tag, told in tags(text) if tag == "a" and "download" in told]
    assert links == [f"/jobs/{job}/artifacts/{RESULT_ARTIFACT}"]


def test_a_page_says_that_the_storage_of_an_artifact_cannot_be_read(
    database: str, store: Store
) -> None:
    job = make_job(store)
    promote(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    kept = [Artifact("a.txt", "nosuch://store/a.txt", 1)]
    store.report(worker.id, [Report(job=job, token=claimed.token, artifacts=kept)])
    settings = Settings(artifacts="nosuch://store")
    with Client(database, settings=settings) as client, asking(create_app(client)) as http:
        root = Visitor(http, make_token(client, "root", Role.ADMIN)[0])
        page = said(root.sees(f"/jobs/{job}?tab=artifacts&show=a.txt"))
    assert "The artifact storage cannot be read here" in page
    assert f"Job {job}" in page


def test_jobs_are_listed_newest_first_page_by_page(root: Visitor, store: Store) -> None:
    made = [job.id for job in store.enqueue([NewJob(task="work") for _ in range(120)])]
    first = root.sees("/jobs")
    make_job(store)  # a new job does not shift the later pages
    second = root.sees(next_page(first))
    third = root.sees(next_page(second))
    assert [*ids(first), *ids(second), *ids(third)] == made[::-1]
    assert 'rel="next"' not in third
    assert root.see("/jobs?below=-1").status_code == 422


@pytest.mark.parametrize(
    "query",
    [
        "queue=crawl", "task=other", "target=site:1", "owner=ben", "tag=eu", "key=k",
        "text=needle&owner=ben", "status=paused", "queue=crawl&tag=eu", "since=2031-01-01T00:00",
    ],
)  # fmt: skip
def test_jobs_are_filtered(root: Visitor, store: Store, query: str) -> None:
    make_job(store, owner="ann")
    [found] = store.enqueue(
        NewJob(
            task="other",
            queue="crawl",
            owner="ben",
            target="site:1",
            tags=["eu"],
            key="k",
            args={"x": "a needle"},
        )
    )
    store.stop(found.id, intent=Intent.PAUSE)
    expected = [] if query.startswith("since") else [found.id]
    assert ids(root.sees(f"/jobs?{query}")) == expected
    for wrong in ("status=nothing", "since=yesterday"):
        assert root.see(f"/jobs?{wrong}").status_code == 422


def test_a_part_of_a_page_is_that_part(root: Visitor, store: Store) -> None:
    make_job(store)
    part = root.see("/jobs", x_fragment="main").text
    assert part.strip().startswith("<main")
    assert part.strip().endswith("</main>")
    assert '<nav aria-label="Pages"' not in part


def test_a_job_says_what_a_cancel_would_do(root: Visitor, store: Store) -> None:
    store.create_pool("trees", ["oak"])
    parent = make_job(store, pools=["trees"], options={"grace": "20s"})
    worker = make_worker(store)
    promote(store)
    worker.claim_one()
    make_job(store, parent=parent)
    make_job(store, parent=parent)
    assert (
        "It ends permanently: 2 children will be cancelled, 1 slot released. "
        "Its code has 20s to end, then it is killed."
    ) in said(root.sees(f"/jobs/{parent}"))


def test_a_job_is_cancelled_rerun_paused_and_resumed(root: Visitor, store: Store) -> None:
    job = make_job(store)
    done = root.does(f"/jobs/{job}/cancel", reason="not now", strategy="immediate")
    assert (done.status_code, done.headers["location"]) == (303, f"/jobs/{job}")
    assert (store.show(job).state, store.show(job).cancelled_by) == (State.CANCELLED, "root")
    again = root.does(f"/jobs/{job}/cancel", reason="not now")
    assert (again.status_code, again.headers["location"]) == (303, f"/jobs/{job}")
    assert len(store.cancellations()) == 1, "asked again, it is the same stop"
    place = root.does(f"/jobs/{job}/rerun").headers["location"]
    new = int(place.rpartition("/")[2])
    root.does(f"/jobs/{new}/pause", reason="lunch")
    assert store.show(new).state is State.PAUSED
    root.does(f"/jobs/{new}/resume", reason="back")
    assert store.show(new).state is State.PENDING
    assert {(row.verb, row.via) for row in store.audit_log("job", str(new))} == {
        ("pause", "dashboard"),
        ("resume", "dashboard"),
    }


def test_a_failed_job_is_told_and_cleared(root: Visitor, store: Store) -> None:
    job = make_job_in(store, State.FAILED)
    text = said(root.sees(f"/jobs/{job}"))
    assert "Failed after 1 attempt: ValueError no" in text
    assert root.does(f"/jobs/{job}/clear", reason="never mind").status_code == 303
    assert store.show(job).state is State.CANCELLED


def test_the_strip_of_a_silent_worker_says_when_its_lease_ends(root: Visitor, store: Store) -> None:
    job = make_job(store)
    worker = make_worker(store, timedelta(hours=1))
    claimed = worker.claim_one()
    store.stop(job, reason="now", by="ann", grace=timedelta(hours=1))
    text = said(root.sees(f"/jobs/{job}"))
    assert "cancel requested by ann: now" in text
    assert "Delivered in progress" in text
    assert "If it stays silent, its lease ends and another worker ends the job, in" in text
    end_as_stopped(worker, claimed, Rung.TERMINATED)
    store.promote()
    text = said(root.sees(f"/jobs/{job}"))
    assert "SIGKILL skipped was not needed" in text
    assert "Proven: cancelled means gone" in text
    assert "data-live" not in root.sees(f"/jobs/{job}"), "there is nothing more to come"


def test_stops_in_progress_are_apart_from_the_records_and_the_late_are_marked(
    root: Visitor, store: Store
) -> None:
    worker = make_worker(store, timedelta(hours=1))
    late, other = make_job(store), make_job(store)
    assert len(worker.claim(2)) == 2
    store.stop(other, reason="later")
    record = store.stop(late, reason="at once", force=True)
    store.stop(make_job(store), reason="over")
    assert "over" in said(root.sees("/cancellations"))
    assert "later" not in said(root.sees("/cancellations"))
    text = said(root.sees("/stops"))
    assert "later" in text
    assert "at once" in text
    assert record.cancellation_id in root.sees("/")
    detail = said(root.sees(f"/cancellations/{record.cancellation_id}"))
    assert "by force" in detail
    assert "not yet" in detail


def test_queues_targets_and_pools_are_closed_and_opened(root: Visitor, store: Store) -> None:
    make_job(store, queue="a/b & c", target="site:1")
    failed = make_job(store, queue="x", target="site:2", max_attempts=1)
    promote(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one(queues=["x"]), "failed", error={"message": "no"})
    assert "a/b & c" in said(root.sees("/queues"))
    root.does("/queues/pause", name="a/b & c", reason="full")
    assert store.statistics().queues["a/b & c"].paused
    assert "/queues/resume" in actions(root.sees("/queues"))
    root.does("/queues/resume", name="a/b & c")
    assert not store.statistics().queues["a/b & c"].paused
    assert "site:2 ▥ blocked" in said(root.sees("/targets?target=site:2"))
    root.does("/targets/clear", name="site:2", reason="no more")
    assert store.show(failed).state is State.CANCELLED
    root.does("/targets/pause", name="site:1")
    assert "site:1 ‖ paused" in said(root.sees("/targets"))
    root.does("/targets/resume", name="site:1")
    root.does("/pools", name="trees", slots="oak, elm")
    root.does("/pools/slots", name="trees", add="ash", remove="elm")
    assert {slot.name for slot in store.pools("trees")[0].slots} == {"oak", "ash"}
    assert root.does("/pools/release", name="trees", slot="oak").status_code == 303
    assert root.does("/pools/release", name="trees", slot="fir").status_code == 404
    assert root.does("/queues/pause").status_code == 422


def test_workers_are_seen_and_drained(root: Visitor, store: Store) -> None:
    worker = make_worker(store)
    job = make_job(store)
    worker.claim_one()
    text = root.sees("/workers")
    assert [told for tag, told in tags(text) if tag == "meter"]
    assert f'href="/jobs/{job}"' in text
    root.does(f"/workers/{worker.id}/drain", reason="new host")
    text = said(root.sees("/workers"))
    assert "↓ draining" in text
    assert "it exits when these have ended" in text
    assert root.does("/workers/no-id/drain").status_code == 404


def test_many_are_stopped_after_a_preview(root: Visitor, ann: Visitor, store: Store) -> None:
    store.enqueue([NewJob(task="work", queue="crawl", owner="ann") for _ in range(3)])
    other = make_job(store, queue="crawl", owner="ben")
    preview = said(ann.sees("/bulk?queue=crawl"))
    assert "Cancel 3 jobs? Jobs that match queue: crawl" in preview
    assert "1 job stays as it is, because it belongs to others" in preview
    place = ann.does("/bulk", queue="crawl", reason="wrong site").headers["location"]
    assert "3 of 4 asked to stop , 1 belong to other owners" in said(ann.sees(place))
    assert store.show(other).state is State.PENDING
    assert "Pause 1 job?" in said(root.sees("/bulk?queue=crawl&intent=pause"))
    assert root.see("/bulk?intent=explode").status_code == 422


def test_tenants_are_made_and_paused(root: Visitor, store: Store) -> None:
    assert root.does("/tenants", name="acme").status_code == 303
    assert "acme" in said(root.sees("/tenants"))
    root.does("/tenants/pause", name="acme", reason="unpaid")
    assert "acme ‖ paused" in said(root.sees("/tenants"))
    assert root.does("/tenants/resume", name="acme").status_code == 303
    assert root.does("/tenants/pause", name="nobody").status_code == 404


def test_the_audit_trail_is_shown_and_filtered(root: Visitor, store: Store) -> None:
    job = make_job(store)
    store.stop(job, reason="because", by="ann")
    store.pause_dispatch("queue", "slow", by="ben")
    assert "because" in said(root.sees("/audit"))
    filtered = said(root.sees(f"/audit?subject=job&name={job}"))
    assert "because" in filtered
    assert "ben" not in filtered


def test_the_system_is_looked_at(root: Visitor) -> None:
    text = said(root.sees("/system"))
    assert "postgresql ✓ fine" in text
    assert "notices" in text
    assert "connections" in text


def test_schedules_are_told_in_words(client: Client, database: str) -> None:
    secret, _ = make_token(client, "vic", Role.VIEWER)
    client.schedules = paged.schedules
    with asking(create_app(client)) as http:
        text = said(Visitor(http, secret).sees("/schedules"))
    assert "nightly At 03:00 every day (0 3 * * *, Europe/Berlin)" in text
    assert text.count("03:00:00") == 5 + 7  # in the list, and on a strip of a week


def test_the_overview_counts_what_is_alive(root: Visitor, store: Store) -> None:
    worker = make_worker(store)
    store.enqueue([NewJob(task="work", queue="crawl") for _ in range(3)])
    claimed = worker.claim_one()
    store.report(worker.id, [Report(job=claimed.id, token=claimed.token, progress={"done": 1})])
    text = said(root.sees("/"))
    assert "Running 1 Queued 2" in text
    assert "Fleet 1 worker alive, 1 job" in text
    assert "crawl ○ open 2" in text
