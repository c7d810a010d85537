"""Artifacts, in a folder and in another kind of store."""

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest
from fsspec.implementations.dirfs import DirFileSystem  # type: ignore[import-untyped]

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, NotFound
from tenure.runtime.artifacts import Artifacts


@pytest.fixture(params=["folder", "memory", "renaming"])
def url(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A folder, a store of whole objects, and one that can only rename."""
    if request.param == "folder":
        yield str(tmp_path / "artifacts")
        return
    if request.param == "renaming":
        monkeypatch.setattr("tenure.runtime.artifacts._WHOLE", set())
    yield "memory://artifacts"
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def everything_in(url: str) -> list[str]:
    fs, path = fsspec.core.url_to_fs(url)
    return sorted(fs.find(path))


def content(artifacts: Artifacts, name: str) -> bytes:
    with artifacts.open(name) as file:
        return file.read()


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"\x00bytes", b"\x00bytes"),
        (bytearray(b"array"), b"array"),
        (memoryview(b"view"), b"view"),
        ("täxt", "täxt".encode()),
        (io.BytesIO(b"from a file"), b"from a file"),
        (io.StringIO("from a text file"), b"from a text file"),
        ({"a": [1, None]}, b'{"a": [1, null]}'),
        ([], b"[]"),
        (b"", b""),
        (b"x" * 3_000_000, b"x" * 3_000_000),
    ],
)
def test_every_kind_of_data_is_kept(url: str, data: Any, kept: bytes) -> None:
    if hasattr(data, "seek"):
        data.seek(0)
    artifacts = Artifacts(url, "acme", 42)
    artifact = artifacts.put("result", data)
    assert (artifact.name, artifact.size) == ("result", len(kept))
    assert content(artifacts, "result") == kept
    with fsspec.open(artifact.url, "rb") as file:
        assert file.read() == kept


def test_a_path_gives_the_file_at_it(url: str, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_bytes(b"of a file")
    artifacts = Artifacts(url, Tenant("acme"), 42)
    assert artifacts.put("report.txt", tmp_path / "report.txt").size == 9
    assert content(artifacts, "report.txt") == b"of a file"


def test_the_place_of_an_artifact_is_tenant_job_and_name(tmp_path: Path) -> None:
    artifact = Artifacts(tmp_path, "acme", 42).put("pages/1.html", "hello")
    assert (tmp_path / "acme" / "42" / "pages" / "1.html").read_text() == "hello"
    assert artifact.url == f"file://{tmp_path}/acme/42/pages/1.html"


def test_what_was_kept_is_listed_by_name(url: str) -> None:
    artifacts = Artifacts(url, "acme", 42)
    assert artifacts.list() == []
    kept = [artifacts.put(name, name) for name in ("b", "pages/2.html", "a*?[b]", "pages/1.html")]
    Artifacts(url, "acme", 4).put("of another job", "")
    assert artifacts.list() == sorted(kept, key=lambda artifact: artifact.name)


def test_a_second_artifact_of_a_name_replaces_the_first(url: str) -> None:
    artifacts = Artifacts(url, "acme", 42, limit_bytes=10)
    artifacts.put("result", b"123456789")
    artifacts.put("result", b"1234567890")
    assert content(artifacts, "result") == b"1234567890"
    assert [kept.size for kept in artifacts.list()] == [10]


def test_what_is_not_there_cannot_be_opened(url: str) -> None:
    artifacts = Artifacts(url, "acme", 42)
    artifacts.put("pages/1.html", "")
    with pytest.raises(NotFound, match="there is no artifact 'other'"):
        artifacts.open("other")


def test_all_of_a_job_are_deleted_and_no_other_s(url: str) -> None:
    artifacts, other = Artifacts(url, "acme", 4, limit_bytes=8), Artifacts(url, "acme", 42)
    artifacts.put("a/b", b"12345678")
    other.put("a", b"1")
    artifacts.delete_all()
    artifacts.delete_all()
    assert artifacts.list() == []
    assert [kept.name for kept in other.list()] == ["a"]
    artifacts.put("c", b"12345678")


def test_one_artifact_has_a_limit(url: str) -> None:
    artifacts = Artifacts(url, "acme", 42, 100, each_limit_bytes=10)
    artifacts.put("just", b"x" * 10)
    for data in (b"x" * 11, io.BytesIO(b"x" * 11)):
        with pytest.raises(InputRefused, match="'big' is larger than its limit of 10 bytes"):
            artifacts.put("big", data)
    assert [kept.name for kept in artifacts.list()] == ["just"]
    assert len(everything_in(url)) == 1


def test_all_of_a_job_have_a_limit_that_a_new_attempt_knows_too(url: str) -> None:
    Artifacts(url, "acme", 42, 10).put("a", b"x" * 6)
    artifacts = Artifacts(url, "acme", 42, 10)
    sentence = "with artifact 'b' the artifacts of the job would take 11 bytes; the limit is 10"
    with pytest.raises(InputRefused, match=sentence):
        artifacts.put("b", b"x" * 5)
    artifacts.put("b", b"x" * 4)
    assert len(everything_in(url)) == 2


class Breaking(io.RawIOBase):
    """A file that fails after its first part."""

    def __init__(self) -> None:
        self.parts = iter([b"first"])

    def read(self, size: int = -1) -> bytes:  # noqa: ARG002
        try:
            return next(self.parts)
        except StopIteration:
            raise OSError("the source is gone") from None


def test_a_source_that_fails_leaves_nothing_and_keeps_what_was_there(url: str) -> None:
    artifacts = Artifacts(url, "acme", 42)
    artifacts.put("kept", b"before")
    for name in ("kept", "new"):
        with pytest.raises(OSError, match="the source is gone"):
            artifacts.put(name, Breaking())
    assert content(artifacts, "kept") == b"before"
    assert len(everything_in(url)) == 1


def test_a_store_that_fails_leaves_nothing_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = Artifacts(tmp_path, "acme", 42, 10)
    artifacts.put("kept", b"1234")

    def fail(part: Path, path: Path) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("tenure.runtime.artifacts._rename", fail)
        for name in ("new/one", "kept"):
            with pytest.raises(OSError, match="disk full"):
                artifacts.put(name, b"123456")
    artifacts.put("new", b"123456")
    assert len(everything_in(str(tmp_path))) == 2


def test_an_upload_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no connection")

    monkeypatch.setattr("tenure.runtime.artifacts._WHOLE", set())
    artifacts = Artifacts("memory://failing", "acme", 42, 10)
    monkeypatch.setattr(artifacts._fs, "mv", fail)
    with pytest.raises(OSError, match="no connection"):
        artifacts.put("new", b"x" * 10)
    monkeypatch.undo()
    assert everything_in("memory://failing") == []
    artifacts.put("other", b"x" * 10)
    artifacts.delete_all()


def test_many_threads_never_go_over_the_limit_together(url: str) -> None:
    artifacts = Artifacts(url, "acme", 42, 50)
    start, refused = threading.Barrier(10), list[str]()

    def keep(number: int) -> None:
        start.wait(10)
        try:
            artifacts.put(f"pages/{number}", b"x" * 10)
        except InputRefused as refusal:
            refused.append(str(refusal))

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(artifacts.list()) == 5
    assert len(refused) == 5


@pytest.mark.parametrize("data", [object(), {1, 2}, float("nan"), "\ud800"])
def test_data_that_cannot_be_kept_is_refused(url: str, data: Any) -> None:
    with pytest.raises(InputRefused, match="artifact 'x': "):
        Artifacts(url, "acme", 42).put("x", data)
    assert everything_in(url) == []


def test_only_files_can_be_given_by_path(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "pipe"):
        with pytest.raises(InputRefused, match="is not a file"):
            Artifacts(tmp_path / "kept", "acme", 42).put("x", path)


def test_the_default_place_is_under_the_folder(tmp_path: Path) -> None:
    assert Settings(folder=tmp_path).artifacts_url == str(tmp_path / "artifacts")
    assert Settings(artifacts="memory://x").artifacts_url == "memory://x"
    assert Path(Settings().artifacts_url).is_absolute()


def test_a_file_system_of_another_kind(tmp_path: Path) -> None:
    """One that is neither local by its name nor known to write whole objects."""
    artifacts = Artifacts("memory://unused", "acme", 42)
    artifacts._fs = DirFileSystem(str(tmp_path), fsspec.filesystem("file"))
    artifacts._root, artifacts._writes_whole = "acme/42", False
    artifacts.put("pages/*.html", "hello")
    artifacts.put("pages/*.html", "again")
    assert [(kept.name, kept.size) for kept in artifacts.list()] == [("pages/*.html", 5)]
    assert content(artifacts, "pages/*.html") == b"again"
