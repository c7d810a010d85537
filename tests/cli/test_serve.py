"""The command ``tenure serve``: how it begins, refuses and leaves."""

import json
import signal
import socket
import sys
import time
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.cli.main import app
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tests.cli.servers import serving


def refusal(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        app([*words])
    assert ended.value.code == code
    return capsys.readouterr().err


class Missing(MetaPathFinder):
    """As if the extra had not been installed."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] in ("fastapi", "uvicorn", "starlette"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("command", ["serve", "up"])
def test_without_the_extra_it_says_what_to_install(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ("fastapi", "uvicorn", "starlette") or name.startswith(
            ("tenure.web", "tenure.cli.server")
        ):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        app([command])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "tenure: the REST API needs uvicorn, which is not installed: pip install 'tenure[web]'\n"
    )


@pytest.mark.parametrize("command", ["serve", "up"])
def test_a_port_that_is_in_use_is_a_sentence(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = [command, "--port", port, "--url", "postgresql:///none"]
        assert refusal(capsys, 1, *words) == (
            f"tenure: port {port} of 127.0.0.1 is in use; stop the program that listens there, "
            f"or pass another --port\n"
        )


def test_a_host_that_is_not_known_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(
        capsys, 2, "serve", "--host", "no.such.host.invalid", "--url", "postgresql:///none"
    )
    assert said.startswith("tenure: --host: 'no.such.host.invalid' is not a known host")


def test_open_to_the_network_must_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, 2, "serve", "--host", "0.0.0.0", "--open", "admin")
    assert "gives everybody on the network the rights of an admin without a token" in said
    assert "pass --yes to allow this" in said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import no_such_thing\n", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("raise SystemExit(0)\n", "SystemExit: 0"),
        ("app = 1\n", "'app' in {path} is not an app; write `app = Tenure()` there"),
    ],
)
def test_an_app_that_cannot_be_imported_ends_it_with_3(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken_for_serve.py"
    path.write_text(text)
    said = refusal(capsys, 3, "serve", f"{path}:app", "--url", "postgresql:///none")
    assert said.endswith(f"tenure: {path}:app cannot be imported: {sentence.format(path=path)}\n")


def test_it_serves_what_a_token_allows_and_leaves_with_0(database: str, tmp_path: Path) -> None:
    with Client(database) as client:
        secret, _ = make_token(client, "ada", Role.VIEWER)
    with serving(database, tmp_path, "tests.apps.jobs:app") as server:
        with httpx.Client(base_url=server.url) as http:
            assert http.get("/readyz").status_code == 200
            assert http.get("/api/jobs").status_code == 401
            known = {"authorization": f"Bearer {secret}"}
            assert http.get("/api/jobs", headers=known).status_code == 200
            http.get(f"/api/jobs?token={secret}", headers=known)
        assert server.leaves() == 0
        assert "/api/jobs" not in server.log
        assert secret not in server.log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_streams_end_when_it_leaves(number: signal.Signals, database: str, tmp_path: Path) -> None:
    with (
        serving(database, tmp_path, "--open", "viewer") as server,
        httpx.Client(base_url=server.url, timeout=20) as http,
        http.stream("GET", "/api/events") as stream,
    ):
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        began = time.monotonic()
        assert server.leaves(number) == 0
        assert time.monotonic() - began < 8, "nobody waited for it to be cut"
        for _ in lines:  # to the end, which is a proper one
            pass
        assert "ERROR" not in server.log
        assert "Traceback" not in server.log


def test_it_serves_while_the_database_is_away(tmp_path: Path) -> None:
    with serving("postgresql://nobody@127.0.0.1:1/none", tmp_path, "--json") as server:
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        assert httpx.get(f"{server.url}/readyz", timeout=20).status_code == 503
        assert server.leaves() == 0
        first, second = (json.loads(line)["message"] for line in server.log.splitlines()[:2])
        assert "nothing listens on port 1 of 127.0.0.1" in first
        assert second == f"serving on {server.url}"


def test_only_a_proxy_that_was_named_says_what_is_spoken(database: str, tmp_path: Path) -> None:
    """The cookie that keeps forms safe is set by a first visit, which has no Origin."""
    visit = {"x-forwarded-proto": "https"}
    for name, more in (("trusted", {"proxies": "127.0.0.1"}), ("stranger", {})):
        folder = tmp_path / name
        folder.mkdir()
        with serving(database, folder, "--open", "viewer", **more) as server:
            cookie = httpx.get(f"{server.url}/jobs", headers=visit).headers["set-cookie"]
            assert ("secure" in cookie.lower()) == (name == "trusted")


def test_an_open_server_answers_for_the_host_it_is_bound_to(database: str, tmp_path: Path) -> None:
    words = ("--open", "viewer", "--host", "localhost")
    with serving(database, tmp_path, *words, hosts="jobs.example.org") as server:
        for host, code in (("localhost", 200), ("jobs.example.org", 200), ("evil.example", 403)):
            answer = httpx.get(f"{server.url}/api/jobs", headers={"host": host})
            assert answer.status_code == code, host
