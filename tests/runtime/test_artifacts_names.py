"""Names of artifacts cannot leave their folder."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InputRefused
from tenure.runtime.artifact_names import checked
from tenure.runtime.artifacts import Artifacts

REFUSED = {
    "": "it is empty",
    "/etc/passwd": "it is absolute",
    "../secret": "it contains the part ..",
    "pages/../../secret": "it contains the part ..",
    "..": "it contains the part ..",
    ".": "it contains the part .",
    "./x": "it contains the part .",
    "a//b": "it has an empty part",
    "a/": "it has an empty part",
    "..\\secret": "it contains a backslash",
    "C:\\x": "it contains a backslash",
    "a\0b": "it contains a control character or an invisible character",
    "a\nb": "it contains a control character or an invisible character",
    "a\u202eb": "it contains a control character or an invisible character",
    "a\ud800": "it contains a control character or an invisible character",
    "\uff0e\uff0e/secret": "it contains the part ..",
    "\u2025/secret": "it contains the part ..",
    "\uff0fetc": "it is absolute",
    "a\uff3cb": "it contains a backslash",
    "a::b": "it contains ::, which has a meaning in URLs of stores",
    "x" * 201: "it is longer than 200 characters",
    "ü" * 101: "a part of it takes more than 200 bytes",
    " a": "a part of it begins or ends with a space, or ends with a dot",
    "a ": "a part of it begins or ends with a space, or ends with a dot",
    "a./b": "a part of it begins or ends with a space, or ends with a dot",
    "...": "a part of it begins or ends with a space, or ends with a dot",
    "nul": "nul is reserved",
    "pages/NUL.txt": "NUL.txt is reserved",
    "Com1": "Com1 is reserved",
    ".tenure-x": ".tenure-x is reserved",
    "a/.TENURE-x": ".TENURE-x is reserved",
    ".\uff54enure-x": ".\uff54enure-x is reserved",
}


@pytest.mark.parametrize(("name", "why"), REFUSED.items(), ids=map(ascii, REFUSED))
def test_a_name_that_could_lead_elsewhere_is_refused(name: str, why: str, tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path, "acme", 42)
    for use in (lambda: artifacts.put(name, b"x"), lambda: artifacts.open(name)):
        with pytest.raises(InputRefused) as refusal:
            use()
        assert str(refusal.value).endswith(f" cannot be the name of an artifact: {why}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [None, 7, b"bytes", Path("x")])
def test_a_name_must_be_a_string(name: object, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="the name of an artifact must be a str, not"):
        Artifacts(tmp_path, "acme", 42).put(name, b"")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    ["a", "pages/1.html", "a..b", ".hidden", "12:30.json", "käse", "a b", "x" * 200, "a.b.c"],
)
def test_ordinary_names_are_accepted(name: str, tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path, "acme", 42)
    artifacts.put(name, b"x")
    assert [kept.name for kept in artifacts.list()] == [name]


@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from(["..", ".", "/", "a", "\\", "\uff0e", " "])).map("".join)
)
def test_no_accepted_name_leaves_the_folder(name: str) -> None:
    try:
        checked(name)
    except InputRefused:
        return
    root = "/root/of/the/job"
    assert os.path.normpath(f"{root}/{name}") == f"{root}/{name}"


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (
            "Page.html",
            "page.html",
            "differs from 'Page.html' only in a way that some file systems ignore",
        ),
        ("straße", "STRASSE", "differs from 'straße' only in a way that some file systems ignore"),
        ("é", "e\u0301", "differs from 'é' only in a way that some file systems ignore"),
        ("Pages/1", "pages", "is a folder of other artifacts"),
        ("pages", "Pages/1", "cannot be below 'pages', which is a file"),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_names_that_are_equal_on_another_file_system_cannot_both_be_used(
    first: str, second: str, sentence: str, again: bool, tmp_path: Path
) -> None:
    artifacts = Artifacts(tmp_path, "acme", 42)
    artifacts.put(first, b"first")
    if again:
        artifacts = Artifacts(tmp_path, "acme", 42)
    with pytest.raises(InputRefused, match=sentence):
        artifacts.put(second, b"second")
    assert [kept.name for kept in artifacts.list()] == [first]


def test_a_link_inside_the_folder_leads_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    artifacts = Artifacts(tmp_path / "kept", "acme", 42)
    artifacts.put("own", b"x")
    folder = tmp_path / "kept" / "acme" / "42"
    (folder / "folder").symlink_to(outside)
    (folder / "file").symlink_to(outside / "secret")
    for name in ("folder/secret", "folder/new", "file"):
        with pytest.raises(InputRefused, match="is a link"):
            artifacts.put(name, b"overwritten")
        with pytest.raises(InputRefused, match="is a link"):
            artifacts.open(name)
    assert [kept.name for kept in artifacts.list()] == ["own"]
    artifacts.delete_all()
    assert (outside / "secret").read_bytes() == b"secret"
    assert not folder.exists()


def test_a_link_in_place_of_the_folder_leads_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "42").symlink_to(outside)
    artifacts = Artifacts(tmp_path, "acme", 42)
    with pytest.raises(InputRefused, match="its folder is a link"):
        artifacts.put("secret", b"overwritten")
    assert artifacts.list() == []
    artifacts.delete_all()
    assert [file.name for file in outside.iterdir()] == ["secret"]
