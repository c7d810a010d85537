"""Jobs of steps and waits, the same for every executor, for real workers.

Every call of a step's function leaves a line in the file named ``calls``.
"""

import asyncio
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from pydantic import BaseModel

from tenure import Context, Pause, Tenure
from tenure.errors import InputRefused, Timeout

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))


class Plan(BaseModel):
    pages: list[str]


class Verdict(BaseModel):
    ok: bool
    note: str = ""


def mark(text: str) -> None:
    with (FOLDER / "calls").open("a") as file:
        file.write(f"{text}\n")


def make_plan(topic: str) -> Plan:
    mark(f"plan {topic}")
    return Plan(pages=[f"{topic}/{n}" for n in range(4)])


async def amake_plan(topic: str) -> Plan:
    return make_plan(topic)


def read_page(page: str) -> int:
    mark(f"read {page}")
    return len(page)


def read_slowly(page: str) -> None:
    mark(f"read {page}")
    time.sleep(0.2)


async def aread_page(page: str) -> int:
    mark(f"read {page}")
    await asyncio.sleep(0.01)
    return len(page)


def fail_until(path: str, times: int) -> str:
    mark(f"try {path}")
    if (FOLDER / "calls").read_text().count(f"try {path}\n") <= times:
        raise ValueError("not yet")
    return "at last"


def first(topic: str) -> bool:
    """Return whether this is the first time that somebody asks this."""
    path = FOLDER / f"seen-{topic}"
    seen = path.exists()
    path.touch()
    return not seen


@app.task(retry=3)
async def steps_async(ctx: Context, how: str, topic: str) -> Any:
    match how:
        case "plan":
            plan = await ctx.step("plan", amake_plan, topic)
            assert isinstance(plan, Plan)
            notes = await ctx.gather("read", [partial(aread_page, p) for p in plan.pages], limit=2)
            if first(topic):
                raise Pause("the first time")
            return [notes, (await ctx.step("sync", make_plan, f"{topic}!")).pages]
        case "sleep":
            await ctx.step("before", read_page, topic)
            await ctx.sleep("300ms")
            return await ctx.step("after", aread_page, topic)
        case "ask":
            await ctx.step("before", read_page, topic)
            verdict = await ctx.ask(Verdict, f"Publish {topic}?", default=Verdict(ok=False))
            assert isinstance(verdict, Verdict)
            return [verdict.ok, verdict.note]
        case "ask briefly":
            verdict = await ctx.ask(Verdict, "Now?", within="300ms", default=Verdict(ok=False))
            return verdict.ok
        case "ask in vain":
            try:
                await ctx.ask(Verdict, "Now?", within="300ms")
            except Timeout as timeout:
                return str(timeout)
        case "event":
            return [await ctx.wait_event("paid", topic), await ctx.wait_event("paid", topic)]
        case "spend":

            async def costly() -> str:
                ctx.spend(tokens=3)
                await ctx.emit("inside")
                ctx.spend(tokens=4)
                return "done"

            await ctx.step("costly", costly)
            if first(topic):
                raise Pause("the first time")
            return await ctx.step("costly again", costly)
        case "emit and fail":

            async def emit() -> str:
                await ctx.emit("a page")
                if first(topic):
                    raise ValueError("half way")
                return "done"

            return await ctx.step("emit", emit)
        case "timeout":

            async def long() -> None:
                await asyncio.sleep(60)

            try:
                await ctx.step("long", long, timeout="100ms")
            except Timeout as timeout:
                return str(timeout)
        case "wait twice":
            try:
                await asyncio.gather(ctx.sleep("1s"), ctx.sleep("2s"))
            except InputRefused as refusal:
                return str(refusal)
        case "wait inside":

            async def inside() -> Any:
                return await ctx.sleep("1s")

            return await ctx.step("outer", inside, retry=0)
    return await _common(ctx, how, topic)


async def _common(ctx: Context, how: str, topic: str) -> Any:
    value = _plain(ctx, how, topic)
    return await value if asyncio.iscoroutine(value) else value


@app.task(retry=3, executor="process")
def steps_process(ctx: Context, how: str, topic: str) -> Any:
    if how == "timeout":
        try:
            ctx.step("long", time.sleep, 60, timeout="100ms")
        except Timeout as timeout:
            return str(timeout)
    return _sync(ctx, how, topic)


@app.task(retry=3, executor="thread")
def steps_thread(ctx: Context, how: str, topic: str) -> Any:
    return _sync(ctx, how, topic)


def _sync(ctx: Context, how: str, topic: str) -> Any:
    match how:
        case "slow":
            return ctx.gather("slow", [partial(read_slowly, topic) for _ in range(40)], limit=1)
        case "plan":
            plan = ctx.step("plan", make_plan, topic)
            assert isinstance(plan, Plan)
            notes = ctx.gather("read", [partial(read_page, p) for p in plan.pages], limit=2)
            if first(topic):
                raise Pause("the first time")
            return [notes, ctx.step("sync", make_plan, f"{topic}!").pages]
        case "sleep":
            ctx.step("before", read_page, topic)
            ctx.sleep("300ms")
            return ctx.step("after", read_page, topic)
        case "ask":
            ctx.step("before", read_page, topic)
            verdict = ctx.ask(Verdict, f"Publish {topic}?", default=Verdict(ok=False))
            assert isinstance(verdict, Verdict)
            return [verdict.ok, verdict.note]
        case "ask briefly":
            return ctx.ask(Verdict, "Now?", within="300ms", default=Verdict(ok=False)).ok
        case "ask in vain":
            try:
                ctx.ask(Verdict, "Now?", within="300ms")
            except Timeout as timeout:
                return str(timeout)
        case "event":
            return [ctx.wait_event("paid", topic), ctx.wait_event("paid", topic)]
        case "spend":

            def costly() -> str:
                ctx.spend(tokens=3)
                ctx.emit("inside")
                ctx.spend(tokens=4)
                return "done"

            ctx.step("costly", costly)
            if first(topic):
                raise Pause("the first time")
            return ctx.step("costly again", costly)
        case "emit and fail":

            def emit() -> str:
                ctx.emit("a page")
                if first(topic):
                    raise ValueError("half way")
                return "done"

            return ctx.step("emit", emit)
        case "wait inside":
            return ctx.step("outer", lambda: ctx.sleep("1s"))
    return _plain(ctx, how, topic)


def _kept(job: int) -> list[str]:
    """Return the names of the steps that somebody else sees."""
    with psycopg.connect(os.environ["TENURE_TEST_URL"]) as connection:
        rows = connection.execute("SELECT name FROM tenure.job_step WHERE job_id = %s", (job,))
        return sorted(name for (name,) in rows)


def _look_back(ctx: Context) -> Any:
    """Return the steps that are in the database when the last of three begins."""
    if ctx.job.task.endswith("async"):

        async def back() -> Any:
            for name in ("one", "two"):
                await ctx.step(name, len, name)
            return await ctx.step("three", _kept, ctx.job.id)

        return back()
    for name in ("one", "two"):
        ctx.step(name, len, name)
    return ctx.step("three", _kept, ctx.job.id)


def _plain(ctx: Context, how: str, topic: str) -> Any:
    """Return what is written alike in every executor; in a coroutine it is awaited."""
    match how:
        case "changed":
            again = not first(topic)
            return ctx.step("read", read_page, f"{topic}!" if again else topic)
        case "retry":
            return ctx.step("shaky", fail_until, topic, 2, retry=2)
        case "untyped":
            return ctx.step("pair", lambda: (1, {"a": (2,)}))
        case "large":
            return ctx.step("large", lambda: "x" * 200_000)
        case "looks back":
            return _look_back(ctx)
        case "not json":
            return ctx.step("bad", read_page, object())
        case "many":
            return ctx.gather("one", [partial(len, str(n)) for n in range(int(topic))], limit=8)
    raise ValueError(how)


def stride(job: int, place: int) -> int:
    mark(f"march {job} {place}")
    time.sleep(0.01)
    return place


async def astride(job: int, place: int) -> int:
    mark(f"march {job} {place}")
    await asyncio.sleep(0.01)
    return place


@app.task(retry=100)
async def march_async(ctx: Context, places: int) -> int:
    return sum([await ctx.step("stride", astride, ctx.job.id, place) for place in range(places)])


@app.task(retry=100, executor="process")
def march_process(ctx: Context, places: int) -> int:
    return sum([ctx.step("stride", stride, ctx.job.id, place) for place in range(places)])
