"""Artifacts in S3, with a real server of it: stored, downloaded by link, deleted with their job."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import fsspec  # type: ignore[import-untyped]
import httpx
import pytest
from moto.server import ThreadedMotoServer

from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.handle import Handle
from tenure.control.tokens import make_token
from tenure.domain.job import RESULT_ARTIFACT
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT
from tenure.errors import NotFound
from tenure.runtime.artifacts import Artifacts
from tenure.web import create_app
from tests.apps import stored
from tests.system.stage import Stage, staged
from tests.web.http_client import asking
from tests.workers import eventually

PLACE = "s3://tenure-test/jobs"
AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """Return the address of a server of S3 that has the bucket; the environment names it."""
    with pytest.MonkeyPatch.context() as patch:
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        for name, value in {**AWS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3").mkdir("tenure-test")
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture(scope="module")
def stage(
    bucket: str, shared_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    settings = {"TENURE_ARTIFACTS": PLACE, "TENURE_KEEP_EVENTS": "30d"}
    with staged(stored.app, shared_database, folder, "stored", **settings) as stage:
        yield stage


def kept(job: int) -> list[str]:
    """Return the names of the objects that are stored for a job."""
    files = fsspec.filesystem("s3", use_listings_cache=False)
    return sorted(path.partition(f"/{job}/")[2] for path in files.find(f"{PLACE}/default/{job}"))


def test_put_open_list_and_delete(bucket: str) -> None:
    artifacts = Artifacts(PLACE, "acme", 7)
    with pytest.raises(NotFound):
        artifacts.open("a/b.txt")
    artifacts.put("a/b.txt", "first")
    stored = artifacts.put("a/b.txt", "second")
    assert (stored.url, stored.size) == (f"{PLACE}/acme/7/a/b.txt", 6)
    assert artifacts.open("a/b.txt").read() == b"second"
    assert [artifact.name for artifact in artifacts.list()] == ["a/b.txt"]
    assert artifacts.of_job(8).list() == []
    artifacts.delete_all()
    assert artifacts.list() == []


@pytest.mark.parametrize("task", [stored.keeps, stored.keeps_in_a_process], ids=lambda t: t.name)
def test_a_job_stores_files_which_are_downloaded_by_link_and_deleted_with_it(
    stage: Stage, bucket: str, shared_database: str, task: type
) -> None:
    size = 6 << 20  # more than one part of an upload
    job = task.enqueue(size).id  # type: ignore[attr-defined]
    stage.watch.becomes(job, State.COMPLETED)
    assert kept(job) == ["pages/index.html", "summary.json"]
    for links in (None, "5m"):
        settings = Settings(artifacts=PLACE, artifact_links=links)  # type: ignore[arg-type]
        with Client(shared_database, settings=settings) as client:
            secret, _ = make_token(client, "vic", Role.VIEWER)
            with asking(create_app(client)) as http:
                viewer = http.as_({"authorization": f"Bearer {secret}"})
                answer = viewer.get(f"/api/jobs/{job}/artifacts/pages/index.html")
                missing = viewer.get(f"/api/jobs/{job}/artifacts/other")
        assert missing.status_code == 404
        if links is None:
            assert answer.content == b"x" * size
    assert answer.status_code == 307
    link = answer.headers["location"]
    assert link.startswith(f"{bucket}/tenure-test/jobs/default/{job}/pages/index.html?")
    expires = {"X-Amz-Expires", "Expires"} & {*parse_qs(urlsplit(link).query)}
    assert expires, link
    downloaded = httpx.get(link)
    assert downloaded.content == b"x" * size
    assert downloaded.headers["content-disposition"].startswith("attachment; ")
    pruned = stage.store.prune({State.COMPLETED: timedelta(0)})
    assert pruned.jobs == 1
    eventually(lambda: kept(job) == [], "the files are deleted with the job")


def test_a_cancelled_job_that_does_not_preserve_leaves_no_file(stage: Stage, bucket: str) -> None:
    job = stored.keeps_and_sleeps.enqueue()
    eventually(lambda: kept(job.id), "it has stored a file")
    job.cancel(reason="enough", preserve=False)
    eventually(lambda: kept(job.id) == [], "the files are deleted with the job")


def test_a_large_result_is_stored_and_read_where_the_storage_is_known(
    stage: Stage, bucket: str, shared_database: str
) -> None:
    size = 2 << 20
    parent = stored.adds_up.enqueue(size)
    assert parent.result(timeout="60s") == 3 * size, "its children have stored their results"
    settings = Settings(artifacts=PLACE, artifact_links="5m")  # type: ignore[arg-type]
    with Client(shared_database, settings=settings) as client:
        secret, _ = make_token(client, "vic", Role.VIEWER)
        children = [child.id for child in parent.children()]
        for child in parent.children():
            assert kept(child.id) == [RESULT_ARTIFACT]
            with pytest.raises(NotFound, match=r"cannot be read here: .*; set TENURE_ARTIFACTS"):
                child.result()
            handle = Handle[dict[str, str]](client, child.id, DEFAULT)
            assert handle.result() == asyncio.run(handle.aresult()) == {"text": "x" * size}
            with asking(create_app(client)) as http:
                viewer = http.as_({"authorization": f"Bearer {secret}"})
                job = viewer.get(f"/api/jobs/{child.id}").json()
                link = viewer.get(f"/api/jobs/{child.id}/artifacts/{job['result_artifact']}")
            assert job["result"] is None
            assert httpx.get(link.headers["location"]).json() == {"text": "x" * size}
    stage.store.prune({State.COMPLETED: timedelta(0)})
    eventually(lambda: not any(map(kept, children)), "the results are deleted with their jobs")
