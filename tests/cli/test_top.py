"""The command ``tenure top``: one snapshot, and how it fits a terminal."""

import io
import json
import re
from datetime import timedelta

import msgspec
import pytest
from rich.console import Console

from tenure.cli.main import app
from tenure.cli.snapshot import Sampler, Snapshot
from tenure.cli.top_view import share, view
from tenure.config import Settings
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.domain.principal import Principal, Role
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tenure.testing import Clock
from tests.cli.running import terminal
from tests.factories import make_job, make_worker, promote

HOUR = timedelta(hours=1)
_ALTERNATE, _ORDINARY, _CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


@pytest.fixture
def sampler(database: str) -> Sampler:
    return Sampler(AuthorizedClient(Client(database), Principal("ada", Role.VIEWER)))


def drawn(snapshot: Snapshot, width: int = 80, height: int | None = 24, trouble: str = "") -> str:
    console = Console(width=width, height=height or 50, file=io.StringIO())
    with console.capture() as drawing:
        console.print(view(snapshot, Settings(), height, trouble))
    return drawing.get()


def test_a_snapshot_shows_queues_jobs_stops_and_workers(sampler: Sampler, store: Store) -> None:
    worker = make_worker(store)
    jobs = [make_job(store, task="shop.crawl", key="nightly"), make_job(store, task="shop.mail")]
    make_job(store, queue="slow", task="shop.report")
    store.pause_dispatch("queue", "slow")
    promote(store)
    first, second = worker.claim(2)
    store.report(
        worker.id,
        [Report(job=first.id, token=first.token, progress={"done": 3, "total": 4})],
    )
    asked = store.stop(second.id, reason="changed my mind", by="ada")
    shown = drawn(sampler.take())
    assert re.search(r"1 cancelling +1 queued +1 running", shown)
    assert re.search(r"^default +· +2 +·", shown, re.MULTILINE)
    assert re.search(r"^slow +1 +· .* paused", shown, re.MULTILINE)
    assert re.search(rf"^{jobs[0]} +shop.crawl \(nightly\) +━+─+ +75%", shown, re.MULTILINE)
    stop = rf"^{asked.cancellation_id} +{second.id} +killed in (30|29|28)s +ada +changed my mind"
    assert re.search(stop, shown, re.MULTILINE)
    assert re.search(rf"^{str(worker.id)[:8]} alive +test-host +1 +2 +━+", shown, re.MULTILINE)


def test_what_is_overdue_and_who_is_late_stand_out(
    sampler: Sampler, store: Store, clock: Clock
) -> None:
    worker = make_worker(store)
    make_job(store)
    promote(store)
    store.stop(worker.claim_one().id)
    clock.advance(timedelta(seconds=50))
    shown = drawn(sampler.take())
    assert "overdue by 20s" in shown
    assert re.search(r"late +test-host .* expired \d+s ago", shown)


def test_much_fits_into_a_small_terminal(sampler: Sampler, store: Store) -> None:
    worker = make_worker(store, HOUR)
    for number in range(40):
        make_worker(store, HOUR)
        make_job(store, queue=f"queue-{number:02}", task=f"shop.{'very_' * 30}long")
    promote(store)
    for job in worker.claim(30)[:20]:
        store.stop(job.id, reason="because " * 40)
    snapshot = sampler.take()
    for width, height in ((80, 24), (40, 12), (200, 60), (20, 5)):
        lines = drawn(snapshot, width, height, trouble="the database is away, " * 20).splitlines()
        assert len(lines) <= height, f"{width} x {height}"
        assert all(len(line) <= width for line in lines)
    assert "and 39 more" in drawn(snapshot)
    assert drawn(snapshot, height=None).count("queue-") == 40


def test_rooms_are_shared_in_turn() -> None:
    assert share(None, [3, 100]) == [3, 100]
    assert share(10, [2, 100, 3]) == [2, 5, 3]
    assert share(2, [5, 5, 5]) == [1, 1, 0]
    assert share(-3, [5]) == [0]


def test_control_characters_are_shown_and_not_obeyed(sampler: Sampler, store: Store) -> None:
    make_worker(store).claim(1)
    make_job(store, task="\x1b[2Jgone", queue="\x1b[31mred")
    promote(store)
    make_worker(store).claim_one()
    assert "\x1b" not in drawn(sampler.take())


def test_the_rate_is_computed_from_two_snapshots(
    sampler: Sampler, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = make_worker(store)
    first = sampler.take()
    assert first.ended_per_second is None
    for _ in range(6):
        make_job(store)
    promote(store)
    for job in worker.claim(6):
        worker.finish(job)
    second = sampler.take()
    seconds = (second.at - first.at).total_seconds()
    assert second.ended_per_second == pytest.approx(6 / seconds)
    # What was pruned is no work undone.
    sampler._before = msgspec.structs.replace(
        second, statistics=first.statistics, server=first.server
    )
    store.prune({}, n=1000)
    assert (sampler.take().ended_per_second or 0) >= 0


def test_outside_a_terminal_it_is_one_snapshot(
    database: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    make_worker(store)
    for words in ([], ["--once"]):
        with pytest.raises(SystemExit) as ended:
            app(["top", "--url", database, *words])
        assert ended.value.code == 0
        said = capsys.readouterr().out
        assert said.startswith("tenure top")
        assert "test-host" in said
        assert "q quits" not in said


def test_a_snapshot_as_json(
    database: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    make_worker(store)
    make_job(store)
    with pytest.raises(SystemExit) as ended:
        app(["top", "--url", database, "--json"])
    assert ended.value.code == 0
    snapshot = json.loads(capsys.readouterr().out)
    assert snapshot["statistics"]["total"] == 1
    assert [worker["host"] for worker in snapshot["workers"]] == ["test-host"]
    assert (snapshot["running"], snapshot["stops"]) == ([], [])


def test_it_is_live_in_a_terminal_and_leaves_it_as_it_was(database: str, store: Store) -> None:
    make_worker(store)
    with terminal(database, "top") as running:
        running.shows("q quits")
        running.shows("test-host")
        make_job(store, queue="late")
        running.shows("late")
        running.types("q")
        assert running.ends() == 0
        assert _ALTERNATE in running.raw
        assert running.raw.rstrip().endswith((_ORDINARY, _CURSOR))


def test_who_is_asked_to_end_leaves_the_terminal_as_it_was_too(database: str) -> None:
    with terminal(database, "top") as running:
        running.shows("q quits")
        running.process.terminate()
        assert running.ends() == 0
        assert _ORDINARY in running.raw
