"""Which artifacts count as gone when a worker has deleted what it found."""

from pathlib import Path

import pytest

from tenure.runtime.artifacts import Artifacts

ELSEWHERE = "file:///of/another/host/7/b.txt"


def test_in_a_folder_only_what_was_in_it_is_gone_until_the_last_look(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path, "default", 7).put("a.txt", "a")
    other = Artifacts(tmp_path, "default", 8)
    other.put("a.txt", "b")
    mine = Artifacts(tmp_path, "default", 7)
    assert mine.discard([kept.url, ELSEWHERE], last=False) == [kept.url]
    assert mine.list() == []
    assert mine.discard([ELSEWHERE], last=False) == []
    assert mine.discard([ELSEWHERE], last=True) == [ELSEWHERE]
    mine.forget()
    assert mine.discard([kept.url], last=False) == []
    assert [artifact.name for artifact in other.list()] == ["a.txt"]


def test_what_is_not_in_a_store_that_all_share_is_gone() -> None:
    artifacts = Artifacts("memory://discarding", "default", 7)
    kept = artifacts.put("a.txt", "a")
    lost = f"{kept.url}-lost"
    assert artifacts.discard([kept.url, lost], last=False) == [kept.url, lost]
    assert artifacts.list() == []


def test_also_what_nobody_has_reported(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path, "default", 7)
    artifacts.put("a.txt", "a")
    assert artifacts.discard([], last=False) == []
    artifacts.forget()
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_who_deleted_and_could_not_say_so_left_a_note(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path, "default", 7).put("a.txt", "a")
    Artifacts(tmp_path, "default", 7).discard((), last=False)
    assert not Path(kept.url.removeprefix("file://")).exists()
    later = Artifacts(tmp_path, "default", 7)
    assert later.discard([kept.url, ELSEWHERE], last=False) == [kept.url]
    later.forget()
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_note_that_was_cut_off_says_nothing(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path, "default", 7).put("a.txt", "a")
    (tmp_path / "default" / ".tenure-gone-7").write_text('["file:')
    assert Artifacts(tmp_path, "default", 7).discard([kept.url], last=False) == [kept.url]


def test_a_store_that_refuses_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifacts = Artifacts(tmp_path, "default", 7)
    kept = artifacts.put("a.txt", "a")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(artifacts._fs, "rm", refuse)
    with pytest.raises(PermissionError):
        artifacts.discard([kept.url], last=True)
