"""What ``tenure up`` is made of: its token, its lines, its supervisor."""

import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from tenure.cli.local_token import local_token
from tenure.cli.log_lines import LogLines
from tenure.cli.output import Printer
from tenure.control.client import Client
from tenure.control.tokens import recognize
from tenure.domain.principal import Role
from tests.cli.running import process
from tests.workers import eventually


@pytest.fixture
def client(database: str) -> Any:
    with Client(database) as client:
        yield client


def secret_in(path: Path) -> str:
    return path.read_text().strip()


def test_the_token_is_an_admins_and_for_its_owner_alone(client: Client, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = local_token(client, tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    known = recognize(client, secret_in(path))
    assert (known.name, known.role, known.tenant.name) == ("local", Role.ADMIN, "default")
    assert [one.name for one in tmp_path.joinpath("new").iterdir()] == ["token"]


def test_the_token_is_made_once(client: Client, tmp_path: Path) -> None:
    first = secret_in(local_token(client, tmp_path))
    (tmp_path / "token").chmod(0o644)
    path = local_token(client, tmp_path)
    assert secret_in(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(client.store.tokens()) == 1


@pytest.mark.parametrize("what", ["revoked", "empty", "of another database", "not a text"])
def test_an_invalid_token_is_replaced(what: str, client: Client, tmp_path: Path) -> None:
    path = local_token(client, tmp_path)
    first = secret_in(path)
    match what:
        case "revoked":
            [token] = client.store.tokens()
            client.store.revoke_token(token.id)
        case "empty":
            path.write_text("")
        case "of another database":
            path.write_text(f"tenure_{'x' * 43}\n")
        case "not a text":
            path.write_bytes(b"\xff\xfe")
    assert secret_in(local_token(client, tmp_path)) != first
    recognize(client, secret_in(path))


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ("nowhere.jobs:app", "there is no module 'nowhere.jobs' in "),
        ("json.nothing:app", "there is no module 'json.nothing' in "),
        ("nofile.py", "there is no file '"),
    ],
)
def test_a_missing_module_is_told_in_one_sentence_before_anything_starts(
    database: str, tmp_path: Path, app: str, said: str
) -> None:
    done = process(database, "up", app, "--port", "0", "--folder", str(tmp_path / "new"))
    assert done.sentence(3).startswith(f"{app} cannot be imported: {said}")
    assert done.out == ""
    assert not (tmp_path / "new").exists()


def test_a_port_that_is_taken_is_told_in_one_sentence(database: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        folder = ("--folder", str(tmp_path / "new"))
        for words in (["up", *folder], ["serve"]):
            done = process(database, *words, "--port", port)
            assert done.sentence(1).startswith(
                f"port {port} of 127.0.0.1 is in use; stop the program"
            )
            assert done.out == ""


def test_lines_stand_behind_the_name_of_who_says_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LogLines(Printer(), {"worker": "cyan", "api": "magenta", "up": "dim"})
    lines.add("worker", "one \x1b[2J")
    lines.add("api", "two " * 100)
    lines.close()
    assert capsys.readouterr().out == f"worker │ one \\x1b[2J\napi    │ {'two ' * 100}\n"


def test_lines_for_programs_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LogLines(Printer(json=True), {"worker": "", "up": ""})
    lines.add("worker", 'a "b"')
    lines.close()
    assert capsys.readouterr().out == '{"from":"worker","line":"a \\"b\\""}\n'


def test_who_does_not_read_holds_up_nobody(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.cli.log_lines._MAX_LINES", 10)
    lines = LogLines(Printer(), {"worker": "", "up": ""})
    reads = threading.Event()
    writing = threading.Event()
    write_one = lines._write_line

    def slow(who: str, line: str) -> None:
        writing.set()
        reads.wait()
        write_one(who, line)

    monkeypatch.setattr(lines, "_write_line", slow)
    lines.add("worker", "first")
    assert writing.wait(5)
    for number in range(15):
        lines.add("worker", str(number))
    reads.set()
    lines.close()
    said = capsys.readouterr().out.splitlines()
    assert "up     │ 5 lines were dropped: output was blocked" in said
    assert said[-1] == "worker │ 9"


def test_it_leaves_when_nobody_reads_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = LogLines(Printer(), {"worker": "", "up": ""})
    left: list[bool] = []
    lines.on_broken = lambda: left.append(True)

    def broken(*_: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(lines, "_write_line", broken)
    lines.add("worker", "one")
    eventually(lambda: left)
    lines.close()
