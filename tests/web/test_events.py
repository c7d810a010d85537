"""Server-sent events from a real server: of a job, of a cancellation, of the whole."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from tenure.control.client import Client
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.web import RequestLimits, create_app, streams
from tests.factories import end_as_stopped, make_job, make_worker
from tests.web.conftest import Bearer
from tests.web.served import Told, events, served
from tests.workers import Watcher, eventually, running_worker


@pytest.fixture
def app(client: Client) -> FastAPI:
    return create_app(client, limits=RequestLimits(streams=2))


@pytest.fixture
def api(app: FastAPI, bearer: Bearer) -> Iterator[httpx.Client]:
    with (
        served(app) as url,
        httpx.Client(base_url=url, headers=bearer("vic", Role.VIEWER), timeout=20) as api,
    ):
        yield api


def states(answer: httpx.Response) -> list[str]:
    return [told.data["status"] for told in events(answer) if isinstance(told, Told)]


def test_a_job_is_told_until_it_has_ended(
    api: httpx.Client, store: Store, database: str, tmp_path: Path
) -> None:
    job = make_job(store, "tests.apps.jobs.echo", args={"value": 1})
    with api.stream("GET", f"/api/jobs/{job}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        with running_worker(database, tmp_path):
            seen = states(answer)
    assert seen[0] == "queued"
    assert seen[-1] == "completed"


def test_who_has_seen_the_end_is_told_not_to_come_back(api: httpx.Client, store: Store) -> None:
    job = make_job(store)
    store.stop(job)
    with api.stream("GET", f"/api/jobs/{job}/events") as answer:
        [last] = [told for told in events(answer) if isinstance(told, Told)]
    assert (last.kind, last.data["status"]) == ("job", "cancelled")
    again = api.get(f"/api/jobs/{job}/events", headers={"last-event-id": last.id})
    assert (again.status_code, again.content) == (204, b"")


def test_who_comes_back_is_told_only_what_is_new(api: httpx.Client, store: Store) -> None:
    job = make_job(store)
    with api.stream("GET", f"/api/jobs/{job}/events") as answer:
        first = next(told for told in events(answer) if isinstance(told, Told))
    store.stop(job)
    with api.stream(
        "GET", f"/api/jobs/{job}/events", headers={"last-event-id": first.id}
    ) as answer:
        assert states(answer) == ["cancelled"]


def test_a_cancellation_is_told_until_it_is_closed(api: httpx.Client, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    record = store.stop(job)
    with api.stream("GET", f"/api/cancellations/{record.cancellation_id}/events") as answer:
        told = events(answer)
        first = next(told)
        assert isinstance(first, Told)
        assert first.data["status"] == "stopping_runners"
        end_as_stopped(worker, claimed)
        store.promote()
        *_, last = (each for each in told if isinstance(each, Told))
    assert (last.kind, last.data["status"], last.data["job_became"]) == (
        "cancellation",
        "completed",
        "cancelled",
    )


def test_the_whole_tells_statistics_and_cancellations(api: httpx.Client, store: Store) -> None:
    with api.stream("GET", "/api/events") as answer:
        told = events(answer)
        first = next(told)
        assert isinstance(first, Told)
        assert (first.kind, first.data["total"]) == ("statistics", 0)
        job = make_job(store)
        store.stop(job)
        kinds = {}
        for each in told:
            assert isinstance(each, Told)
            kinds[each.kind] = each.data
            if len(kinds) == 2 and kinds["statistics"]["total"] == 1:
                break
    assert kinds["cancellation"]["job_id"] == job


def test_what_does_not_exist_is_no_stream(api: httpx.Client) -> None:
    for path in ("/api/jobs/7/events", "/api/cancellations/cancel-000007/events"):
        answer = api.get(path)
        assert answer.status_code == 404, path
        assert "there is no" in answer.json()["error"]["message"]


def test_a_stream_gives_a_sign_of_life(
    api: httpx.Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BEAT", 0.05)
    job = make_job(store)
    with api.stream("GET", f"/api/jobs/{job}/events") as answer:
        assert next(told for told in events(answer) if isinstance(told, str)) == ": beat"


def test_a_stream_ends_when_its_token_is_revoked(
    api: httpx.Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BEAT", 0.05)
    job = make_job(store)
    with api.stream("GET", f"/api/jobs/{job}/events") as answer:
        told = events(answer)
        next(told)
        store.revoke_token(1)
        assert all(isinstance(each, str) for each in told)
    assert store.show(job).state is State.PENDING


def test_only_so_many_streams_are_open_for_one_principal(
    api: httpx.Client, app: FastAPI, store: Store, bearer: Bearer
) -> None:
    job = make_job(store)
    path = f"/api/jobs/{job}/events"
    with api.stream("GET", path) as one, api.stream("GET", path) as two:
        assert (one.status_code, two.status_code) == (200, 200)
        third = api.get(path)
        assert third.status_code == 429
        assert "2 event streams" in third.json()["error"]["message"]
        with api.stream("GET", path, headers=bearer("ann", Role.VIEWER)) as other:
            assert other.status_code == 200
    taken = app.state.tenure.streams._taken
    eventually(lambda: not taken, "the quota is free again")
    assert api.get(f"/api/jobs/{job}").status_code == 200


def test_a_client_that_goes_away_leaves_nothing_behind(
    api: httpx.Client, app: FastAPI, store: Store
) -> None:
    job = make_job(store)
    with api.stream("GET", f"/api/jobs/{job}/events") as answer:
        told = events(answer)
        next(told)
        [watching] = app.state.tenure._subscriptions.values()
        hub = watching._opened
        assert hub._subscribers
    eventually(lambda: not hub._subscribers and not hub._polls, "nobody looks any more")


def test_a_cancel_by_request_is_told_to_all_who_watch(
    api: httpx.Client, store: Store, database: str, tmp_path: Path, bearer: Bearer
) -> None:
    job = make_job(store, "tests.apps.jobs.sleeps_async")
    with running_worker(database, tmp_path):
        Watcher(store).becomes(job, State.RUNNING)
        with api.stream("GET", f"/api/jobs/{job}/events") as answer:
            told = events(answer)
            next(told)
            cancelled = api.post(
                f"/api/jobs/{job}/cancel",
                json={"reason": "enough"},
                headers=bearer("r", Role.ADMIN),
            )
            assert cancelled.status_code == 200, cancelled.text
            assert [told.data["status"] for told in told if isinstance(told, Told)][-1] == (
                "cancelled"
            )
    assert cancelled.json()["members"][0]["rung"] == "interrupted"


def test_one_who_waits_many_times_keeps_nobody_out(
    client: Client, store: Store, bearer: Bearer
) -> None:
    job = make_job(store, owner="ann")
    worker = make_worker(store)
    claimed = worker.claim_one()
    ann = bearer("ann", Role.OPERATOR)
    app = create_app(client, limits=RequestLimits(requests=2))
    with (
        served(app) as url,
        httpx.Client(base_url=url, timeout=90) as api,
        ThreadPoolExecutor() as waiting,
    ):
        path, body = f"/api/jobs/{job}/cancel", {"wait": "60s"}
        waits = [waiting.submit(api.post, path, headers=ann, json=body) for _ in range(2)]
        eventually(lambda: app.state.tenure.requests.taken == 2, "both wait")
        eventually(lambda: store.show(job).cancel_requested, "the cancel is written")
        answer = api.get(f"/api/jobs/{job}", headers=ann)
        assert answer.status_code == 429
        assert "ann already has 2 requests in progress" in answer.json()["error"]["message"]
        for path in (f"/api/jobs/{job}", "/api/statistics"):
            assert api.get(path, headers=bearer("vic", Role.VIEWER)).status_code == 200
        assert api.get("/healthz").status_code == 200
        # The second cancel may still hold the lock of the job: the finish is then to be repeated.
        eventually(lambda: end_as_stopped(worker, claimed).accepted, "the attempt ends")
        store.promote()
        assert [wait.result().status_code for wait in waits] == [200, 200]
        assert api.get(f"/api/jobs/{job}", headers=ann).status_code == 200
