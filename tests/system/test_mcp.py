"""The tasks of an app as tools, for the package's own client, with a real worker."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from mcp.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, ErrorData

from tenure.contrib.mcp import create_server, http_app
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.store.store import Store
from tests.apps.tools import app
from tests.factories import make_job
from tests.web.served import served
from tests.workers import ROOT, Watcher, running_worker

APP = "tests.apps.tools:app"
USER_TOOLS = {"start_job", "get_job", "cancel_job", "resume_job", "answer_job"}
OPERATOR_TOOLS = {"list_jobs", "explain_job", "inspect_job", "stop_job"}


def run(story: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(90):
            await story

    asyncio.run(bounded())


@asynccontextmanager
async def stdio(database: str, *options: str, **more: Any) -> AsyncIterator[McpClient]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tenure", "mcp", APP, "--url", database, *options],
        cwd=ROOT,
        env=env,
    )
    async with McpClient(stdio_client(parameters), **more) as client:
        yield client


@pytest.fixture
def worker(database: str, tmp_path: Path) -> Iterator[None]:
    with running_worker(database, tmp_path, app=APP):
        yield


async def eventually(look: Callable[[], Any], what: str) -> Any:
    for _ in range(600):
        if found := await asyncio.to_thread(look):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(what)


def test_tasks_are_tools_with_the_schema_of_the_catalogue(
    database: str, store: Store, worker: None
) -> None:
    async def story() -> None:
        async with stdio(database) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            names = {"add", "counts", "works_with_a_child", "fails", "tests_apps_tools_asks"}
            assert set(tools) == names | {"asks_a_person", "shell_asks"} | USER_TOOLS
            assert tools["add"].description == "Add two numbers."
            [known] = await asyncio.to_thread(lambda: store.tasks("tests.apps.tools.add"))
            assert tools["add"].input_schema == known.schema

            done = await client.call_tool("add", {"a": 41})
            assert not done.is_error
            assert (done.structured_content["result"], done.structured_content["status"]) == (
                42,
                "completed",
            )
            job = await asyncio.to_thread(store.show, done.structured_content["job"])
            assert job.owner == "db:postgres"
            assert {row.via for row in await asyncio.to_thread(store.audit_log)} <= {"mcp", "sql"}

            wrong = await client.call_tool("add", {"a": "x"})
            assert wrong.is_error
            assert "cannot take these arguments" in wrong.structured_content["error"]["message"]
            failed = await client.call_tool("fails", {"why": "no luck"})
            assert failed.is_error
            assert failed.structured_content["reason"] == "no luck"
            unknown = await client.call_tool("list_jobs", {})
            assert unknown.is_error
            assert "there is no tool" in unknown.structured_content["error"]["message"]

    run(story())


def test_progress_reaches_the_client(database: str, worker: None) -> None:
    async def story() -> None:
        seen: list[tuple[float, float | None, str | None]] = []

        async def note(
            progress: float, total: float | None = None, message: str | None = None
        ) -> None:
            seen.append((progress, total, message))

        async with stdio(database) as client:
            done = await client.call_tool("counts", {"to": 20}, progress_callback=note)
            assert done.structured_content["result"] == "counted"
        assert seen
        assert seen[-1] == (20, 20, "step 20")

    run(story())


def test_a_cancelled_call_stops_its_job_and_leaves_nothing_running(
    database: str, store: Store, worker: None, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"

    async def story() -> None:
        async with stdio(database) as client:
            call = asyncio.create_task(client.call_tool("works_with_a_child", {"pids": str(pids)}))
            await eventually(lambda: pids.exists() and pids.read_text(), "it runs")
            processes = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            [job] = await asyncio.to_thread(store.list_jobs)
            await asyncio.to_thread(Watcher(store).becomes, job.id, State.CANCELLED)
            [record] = await asyncio.to_thread(store.cancellations)
            assert (record.reason, record.success) == ("the MCP client cancelled the call", True)
            assert not any(process.is_running() for process in processes)
            seen = await client.call_tool("get_job", {"job": job.id})
            assert seen.structured_content["status"] == "cancelled"

    run(story())


def test_a_client_that_leaves_stops_the_jobs_of_its_calls_and_no_others(
    database: str, store: Store, worker: None, tmp_path: Path
) -> None:
    pids = [tmp_path / "called", tmp_path / "started"]

    async def story() -> None:
        async with stdio(database) as client:
            started = await client.call_tool(
                "start_job", {"task": "works_with_a_child", "arguments": {"pids": str(pids[1])}}
            )
            call = asyncio.create_task(
                client.call_tool("works_with_a_child", {"pids": str(pids[0])})
            )
            await eventually(lambda: all(pid.exists() for pid in pids), "both run")
        with pytest.raises(BaseException):  # noqa: B017, PT011 - the connection is closed
            await call
        other = started.structured_content["job"]
        jobs = {job.id: job for job in await asyncio.to_thread(store.list_jobs)}
        [called] = set(jobs) - {other}
        await asyncio.to_thread(Watcher(store).becomes, called, State.CANCELLED)
        assert (await asyncio.to_thread(store.show, other)).state is State.RUNNING
        await asyncio.to_thread(store.stop, other)

    run(story())


def test_a_long_job_is_started_read_answered_and_cancelled(
    database: str, store: Store, worker: None, tmp_path: Path
) -> None:
    async def story() -> None:
        async with stdio(database) as client:
            waits = await client.call_tool("tests_apps_tools_asks", {})
            job = waits.structured_content["job"]
            assert waits.structured_content["status"] == "paused"
            assert waits.structured_content["reason"] == "needs a human"
            await client.call_tool("resume_job", {"job": job, "value": {"yes": True}})
            await asyncio.to_thread(Watcher(store).becomes, job, State.COMPLETED)
            seen = await client.call_tool("get_job", {"job": job})
            assert seen.structured_content["result"] == {"yes": True}

            pids = str(tmp_path / "pids")
            work = {"task": "works_with_a_child", "arguments": {"pids": pids}}
            started = await client.call_tool("start_job", work)
            job = started.structured_content["job"]
            await asyncio.to_thread(Watcher(store).becomes, job, State.RUNNING)
            done = await client.call_tool("cancel_job", {"job": job, "reason": "enough"})
            assert done.structured_content["confirmed"] is True
            assert (await asyncio.to_thread(store.show, job)).state is State.CANCELLED
            again = await client.call_tool("cancel_job", {"job": job})
            assert (
                again.structured_content["cancellation"] == done.structured_content["cancellation"]
            )
            assert (await client.call_tool("cancel_job", {"job": "x"})).is_error

    run(story())


def test_a_question_is_answered_by_the_tool_for_it(
    database: str, store: Store, worker: None
) -> None:
    async def story() -> None:
        async with stdio(database) as client:
            asks = await client.call_tool("asks_a_person", {"what": "it"})
            assert asks.structured_content["status"] == "waiting"
            assert asks.structured_content["question"]["text"] == "Publish it?"
            job = asks.structured_content["job"]
            [question] = (await client.call_tool("get_job", {"job": job})).structured_content[
                "questions"
            ]
            wrong = await client.call_tool("answer_job", {"job": job, "answer": {"ok": "perhaps"}})
            assert "cannot take this answer" in wrong.structured_content["error"]["message"]
            answer = {"job": job, "question": question["id"], "answer": {"ok": True}}
            assert not (await client.call_tool("answer_job", answer)).is_error
            again = await client.call_tool("answer_job", answer)
            assert "was answered" in again.structured_content["error"]["message"]
            await asyncio.to_thread(Watcher(store).becomes, job, State.COMPLETED)
            assert (await asyncio.to_thread(store.show, job)).result == "True "

    run(story())


@pytest.mark.parametrize("how", ["accept", "decline", "error", "elsewhere"])
def test_a_question_goes_to_the_person_at_the_client(
    database: str, store: Store, worker: None, how: str
) -> None:
    asked: list[Any] = []

    async def person(_: Any, question: Any) -> ElicitResult | ErrorData:
        asked.append(question)
        if how == "error":
            return ErrorData(code=-1, message="nobody is here")
        if how == "elsewhere":
            [job] = await asyncio.to_thread(store.list_jobs)
            await asyncio.to_thread(store.answer, job.id, '{"ok": false, "note": "by another"}')
            await asyncio.sleep(60)
        return ElicitResult(action=how, content={"ok": True, "note": "fine"})  # type: ignore[arg-type]

    async def story() -> None:
        async with stdio(database, elicitation_callback=person, mode="legacy") as client:
            done = (await client.call_tool("asks_a_person", {"what": "it"})).structured_content
            assert [question.message for question in asked] == ["Publish it?"]
            assert set(asked[0].requested_schema["properties"]) == {"ok", "note"}
            if how in ("decline", "error"):
                assert (done["status"], done["question"]["text"]) == ("waiting", "Publish it?")
            else:
                assert done["result"] == ("True fine" if how == "accept" else "False by another")

    run(story())


def test_jobs_of_others_do_not_exist_for_a_user_and_do_for_an_operator(
    database: str, store: Store
) -> None:
    job = make_job(store, owner="ann")

    async def story() -> None:
        async with stdio(database) as client:
            for name in USER_TOOLS - {"start_job"}:
                refused = await client.call_tool(name, {"job": job, "answer": 1})
                assert refused.is_error, name
                assert f"there is no job {job}" in refused.structured_content["error"]["message"]
            assert (await asyncio.to_thread(store.show, job)).state is State.PENDING
        async with stdio(database, "--operator") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names >= OPERATOR_TOOLS
            listed = await client.call_tool("list_jobs", {"status": "queued"})
            assert [found["job"] for found in listed.structured_content["jobs"]] == [job]
            why = await client.call_tool("explain_job", {"job": job})
            assert "no worker" in str(why.structured_content)
            refused = await client.call_tool("inspect_job", {"job": job})
            assert refused.is_error
            stopped = await client.call_tool("stop_job", {"job": job})
            assert stopped.structured_content["confirmed"] is True

    run(story())


def test_http_needs_a_token_and_acts_for_its_principal(
    database: str, store: Store, worker: None
) -> None:
    with Client(database) as client:
        client.tasks = app.tasks
        secrets = {
            name: make_token(client, name, role)[0]
            for name, role in (("ann", Role.OPERATOR), ("bob", Role.OPERATOR), ("vic", Role.VIEWER))
        }
        with served(http_app(client, create_server(client, operator=True))) as url:
            assert httpx.post(f"{url}/mcp", json={}).status_code == 401

            @asynccontextmanager
            async def of(name: str) -> AsyncIterator[McpClient]:
                headers = {"authorization": f"Bearer {secrets[name]}"}
                async with (
                    http_client(headers) as http,
                    McpClient(streamable_http_client(f"{url}/mcp", http_client=http)) as mcp,
                ):
                    yield mcp

            async def story() -> None:
                async with of("ann") as ann, of("bob") as bob, of("vic") as vic:
                    done = await ann.call_tool("add", {"a": 1})
                    job = done.structured_content["job"]
                    assert (await asyncio.to_thread(store.show, job)).owner == "ann"
                    assert (await bob.call_tool("get_job", {"job": job})).is_error
                    theirs = make_job(store, owner="ann")
                    refused = await bob.call_tool("stop_job", {"job": theirs})
                    assert refused.is_error
                    assert "ann" in refused.structured_content["error"]["message"]
                    refused = await vic.call_tool("add", {"a": 1})
                    assert refused.is_error
                    assert "may not enqueue" in refused.structured_content["error"]["message"]

            run(story())


def http_client(headers: dict[str, str]) -> Any:
    from mcp.shared._httpx_utils import create_mcp_http_client

    return create_mcp_http_client(headers=headers)
