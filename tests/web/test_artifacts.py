"""Artifacts by request: whole, to be saved, and never from anywhere but the job's own place."""

import os
from collections.abc import Iterator
from pathlib import Path

import fsspec  # type: ignore[import-untyped]
import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.principal import Role
from tenure.store.outcomes import Artifact, Report
from tenure.store.store import Store
from tenure.web import create_app
from tests.factories import make_job, make_worker
from tests.web.conftest import Bearer
from tests.web.http_client import Http, asking, problem


@pytest.fixture
def vic(database: str, tmp_path: Path, bearer: Bearer) -> Iterator[Http]:
    settings = Settings(artifacts=str(tmp_path / "artifacts"))
    with Client(database, settings=settings) as client, asking(create_app(client)) as http:
        yield http.as_(bearer("vic", Role.VIEWER))


def kept(store: Store, *names: str, url: str = "file:///etc/passwd") -> int:
    """A job that says it has kept these."""
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    artifacts = [Artifact(name, url, 1) for name in names]
    store.report(worker.id, [Report(job=job, token=claimed.token, artifacts=artifacts)])
    return job


def place_of(tmp_path: Path, job: int) -> Path:
    place = tmp_path / "artifacts" / "default" / str(job)
    place.mkdir(parents=True)
    return place


def test_a_file_is_listed_and_comes_back_as_it_was(vic: Http, store: Store, tmp_path: Path) -> None:
    job = kept(store, 'pages/ü ".html', url="file:///there")
    place = place_of(tmp_path, job)
    (place / "pages").mkdir()
    content = os.urandom(3 << 20)
    (place / 'pages/ü ".html').write_bytes(content)
    [listed] = vic.get(f"/api/jobs/{job}/artifacts").json()
    assert (listed["name"], listed["size"]) == ('pages/ü ".html', 1)
    answer = vic.get(f"/api/jobs/{job}/artifacts/pages/%C3%BC%20%22.html")
    assert answer.content == content
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''%C3%BC%20%22.html"
    )


def test_nothing_is_read_from_where_a_job_says_it_is(
    vic: Http, store: Store, tmp_path: Path
) -> None:
    job = kept(store, "passwd", "../../secret", "..", "a//b", "/etc/passwd", "x::y", "a\\b")
    (tmp_path / "artifacts" / "secret").parent.mkdir()
    (tmp_path / "artifacts" / "secret").write_text("secret")
    for name in (
        "passwd", "..%2F..%2Fsecret", "%2E%2E", "a%2F%2Fb", "%2Fetc%2Fpasswd", "x::y", "a%5Cb",
    ):  # fmt: skip
        answer = vic.get(f"/api/jobs/{job}/artifacts/{name}")
        assert problem(answer)[0] == 404, name


def test_links_pipes_and_folders_are_no_artifacts(vic: Http, store: Store, tmp_path: Path) -> None:
    job = kept(store, "link", "inside/file", "pipe", "folder")
    place = place_of(tmp_path, job)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_text("secret")
    (place / "link").symlink_to(tmp_path / "secret" / "file")
    (place / "inside").symlink_to(tmp_path / "secret")
    (place / "folder").mkdir()
    os.mkfifo(place / "pipe")
    for name in ("link", "inside/file", "pipe", "folder"):
        assert problem(vic.get(f"/api/jobs/{job}/artifacts/{name}"))[0] == 404, name


def test_what_a_job_did_not_keep_is_not_there(vic: Http, store: Store, tmp_path: Path) -> None:
    job = kept(store, "one")
    (place_of(tmp_path, job) / "two").write_text("two")
    code, _, message = problem(vic.get(f"/api/jobs/{job}/artifacts/two"))
    assert (code, message) == (404, f"job {job} has no artifact 'two'")
    assert problem(vic.get("/api/jobs/99/artifacts/one"))[0] == 404
    assert "is not in the artifact storage" in problem(vic.get(f"/api/jobs/{job}/artifacts/one"))[2]


def test_any_store_that_fsspec_knows_will_do(database: str, store: Store, bearer: Bearer) -> None:
    job = kept(store, "report.csv")
    files = fsspec.filesystem("memory")
    files.makedirs(f"/kept/default/{job}", exist_ok=True)
    files.pipe(f"/kept/default/{job}/report.csv", b"a,b")
    settings = Settings(artifacts="memory://kept")
    with Client(database, settings=settings) as client, asking(create_app(client)) as http:
        vic = http.as_(bearer("vic", Role.VIEWER))
        assert vic.get(f"/api/jobs/{job}/artifacts/report.csv").content == b"a,b"
        assert problem(vic.get(f"/api/jobs/{job}/artifacts/other"))[0] == 404
