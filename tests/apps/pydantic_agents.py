"""Agents of Pydantic AI as jobs, with a model that needs no network.

The model and the tools leave a line for each call in the file named ``calls``.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from pydantic_ai import Agent, ApprovalRequired, CallDeferred, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from tenure import Tenure
from tenure.contrib.pydantic_ai import AskPerson, TenureDurability, emit_text

app = Tenure()


def mark(text: str) -> None:
    with (Path(os.environ["TENURE_TEST_FOLDER"]) / "calls").open("a") as file:
        file.write(f"{text}\n")


def parts_of(messages: list[ModelMessage], kind: str) -> list[Any]:
    return [p for message in messages for p in message.parts if p.part_kind == kind]


def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Read two pages at once, and so on until all are read; then write."""
    [prompt] = parts_of(messages, "user-prompt")
    pages = int(prompt.content)
    returned = [part.content for part in parts_of(messages, "tool-return")]
    mark(f"model {len(returned)} of {pages}")
    usage = RequestUsage(input_tokens=10, output_tokens=5)
    if len(returned) == pages:
        return ModelResponse([TextPart(" ".join(returned))], usage=usage)
    wanted = range(len(returned), min(len(returned) + 2, pages))
    calls = [ToolCallPart("read", {"page": page}) for page in wanted]
    return ModelResponse(calls, usage=usage)


reader = Agent(
    FunctionModel(respond), name="reader", capabilities=[TenureDurability(reserve={"tokens": 100})]
)


@reader.instructions
def instruct() -> str:
    return f"It is {os.urandom(4).hex()} o'clock."  # different in each attempt


@reader.tool_plain
async def read(page: int) -> str:
    mark(f"read {page}")
    await asyncio.sleep(0.01)
    return f"page {page}"


@app.task(retry=100, budget={"tokens": 10_000})
async def research(pages: int) -> str:
    return (await reader.run(str(pages))).output


@app.task(retry=100, executor="process")
def research_process(pages: int) -> str:
    return asyncio.run(reader.run(str(pages))).output


@app.task(retry=100, executor="thread")
def research_thread(pages: int) -> str:
    return asyncio.run(reader.run(str(pages))).output


def ask_first(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Delete one thing, ask for another, then say what came of it."""
    said = [*parts_of(messages, "tool-return"), *parts_of(messages, "retry-prompt")]
    mark(f"model {len(said)}")
    if not said:
        calls = [ToolCallPart("delete", {"name": "a"}), ToolCallPart("look_up", {"what": "b"})]
        return ModelResponse(calls)
    return ModelResponse([TextPart("; ".join(sorted(str(part.content) for part in said)))])


careful = Agent(
    FunctionModel(ask_first),
    name="careful/agent #1",
    capabilities=[TenureDurability(), AskPerson(role="operator", within="7d")],
)


@careful.tool
async def delete(ctx: RunContext[object], name: str) -> str:
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    mark(f"delete {name}")
    return f"deleted {name}"


@careful.tool_plain
async def look_up(what: str) -> str:
    raise CallDeferred


@app.task(retry=100)
async def clean() -> str:
    return (await careful.run("clean up")).output


async def write(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
    for word in ("It ", "is ", "tea."):
        mark(f"write {word}")
        yield word
        await asyncio.sleep(0.06)


writer = Agent(
    FunctionModel(stream_function=cast(Any, write)),
    name="writer",
    capabilities=[TenureDurability(event_stream_handler=emit_text)],
)


@app.task(retry=100)
async def tell() -> str:
    return (await writer.run("Tell me.")).output


def delegate(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    if returned := parts_of(messages, "tool-return"):
        return ModelResponse([TextPart(", ".join(part.content for part in returned))])
    return ModelResponse([ToolCallPart("consult", {"about": about}) for about in ("1", "3")])


leader = Agent(FunctionModel(delegate), name="leader", capabilities=[TenureDurability()])


@leader.tool_plain
async def consult(about: str) -> str:
    """Ask another agent, whose steps are below this one."""
    return (await reader.run(about)).output


@app.task(retry=100)
async def lead() -> list[str]:
    """Run two agents at once; each of them asks two others."""
    results = await asyncio.gather(leader.run("first"), leader.run("second"))
    return [result.output for result in results]


@app.task(retry=0)
async def wait_for_a_model() -> str:
    agent = Agent(FunctionModel(hang), name="hanging", capabilities=[TenureDurability()])
    return (await agent.run("Take your time.")).output


async def hang(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    mark("hang")
    try:
        await asyncio.sleep(3600)
    finally:
        mark("cancelled")
    raise AssertionError
