"""Jobs that hand every odd value to every method of their context."""

import asyncio
import inspect
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenure import Context, Discard, Pause, Snooze, Tenure
from tenure.errors import TenureError
from tenure.runtime.messages import AttemptReport

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))


class Raising:
    """Every question about it raises."""

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("not to be asked")

    __str__ = __repr__ = __iter__ = __len__ = __bool__ = __eq__ = __float__ = _raise
    __index__ = __format__ = __getitem__ = _raise

    def __hash__(self) -> int:
        return 1


class RaisingList(list[int]):
    def __iter__(self) -> Any:
        raise RuntimeError("not to be iterated")

    def __len__(self) -> int:
        raise RuntimeError("not to be counted")


class RaisingDict(dict[str, int]):
    def __iter__(self) -> Any:
        raise RuntimeError("not to be iterated")

    def items(self) -> Any:
        raise RuntimeError("not to be iterated")

    values = keys = items


class Text(str):
    """A text of a type of its own."""


class Count(int):
    """A number of a type of its own."""


class Closable:
    def close(self) -> None:
        pass


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def holding_itself() -> list[Any]:
    value: list[Any] = []
    value.append({"inside": value})
    return value


VALUES: dict[str, Callable[[], Any]] = {
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "huge integer": lambda: 2**80,
    "integer of 5,000 digits": lambda: 10**5000,
    "negative": lambda: -1,
    "negative float": lambda: -1.5,
    "bytes": lambda: b"\xff\0",
    "tuple as key": lambda: {"a": {(1, 2): 3}},
    "none as key": lambda: {None: 1},
    "set": lambda: {1, 2},
    "nan in a set": lambda: {float("nan")},
    "lone surrogate": lambda: "before\ud800after",
    "surrogate as key": lambda: {"\ud800": 1},
    "nul": lambda: "before\0after",
    "nul as key": lambda: {"\0": 1},
    "holding itself": holding_itself,
    "nested 3,000 deep": lambda: nested(3000),
    "raising": Raising,
    "raising list": lambda: RaisingList([1]),
    "raising dict": lambda: RaisingDict(a=1),
    "type": lambda: Raising,
    "str subclass": lambda: Text("text"),
    "int subclass": lambda: Count(3),
    "bool": lambda: True,
    "10 MB": lambda: "x" * 10_000_000,
    "empty": lambda: "",
    "none": lambda: None,
    "function": lambda: nested,
    "generator": lambda: (i for i in range(3)),
    "object": object,
}


@app.task(retry=0)
async def child(value: Any = None) -> Any:
    return None


METHODS: dict[str, Callable[[Context, Any], Any]] = {
    "progress": lambda ctx, value: ctx.progress(value),
    "progress total": lambda ctx, value: ctx.progress(1, value),
    "progress message": lambda ctx, value: ctx.progress(1, 2, value),
    "track": lambda ctx, value: ctx.track(value),
    "track total": lambda ctx, value: list(ctx.track([1, 2], value)),
    "save_checkpoint": lambda ctx, value: ctx.save_checkpoint(odd=value),
    "save_checkpoint name": lambda ctx, value: ctx.save_checkpoint(**{_name(value): 1}),
    "emit": lambda ctx, value: ctx.emit(value),
    "emit inside": lambda ctx, value: ctx.emit({"a": [value]}),
    "spend": lambda ctx, value: ctx.spend(tokens=value),
    "spend unit": lambda ctx, value: ctx.spend(**{_name(value): 0}),
    "log": lambda ctx, value: ctx.log.warning("%s", value),
    "log message": lambda ctx, value: ctx.log.warning(value),
    "artifact name": lambda ctx, value: ctx.artifact(value, b"data"),
    "artifact data": lambda ctx, value: ctx.artifact("data", value),
    "temp_dir": lambda ctx, value: ctx.temp_dir(sensitive=value),
    "resource": lambda ctx, value: ctx.resources.remove(ctx.resources.add(value)),
    "resource name": lambda ctx, value: ctx.resources.add(Closable(), name=value),
    "resource timeout": lambda ctx, value: ctx.resources.add(Closable(), timeout=value),
    "resource again": lambda ctx, value: ctx.resources.add(Closable(), again=value),
    "resource again task": lambda ctx, value: ctx.resources.add(Closable(), again=(value, {})),
    "resource again arguments": lambda ctx, value: ctx.resources.add(
        Closable(), again=("task", {"value": value})
    ),
    "Snooze": lambda _ctx, value: Snooze(value),
    "Discard": lambda _ctx, value: Discard(value),
    "Pause": lambda _ctx, value: Pause(value),
}
# Those that ask the keeper, as plain code calls them and as coroutines do.
ASKING: dict[str, tuple[Callable[[Context, Any], Any], Callable[[Context, Any], Any]]] = {
    "spawn": (
        lambda ctx, value: ctx.spawn(child, value),
        lambda ctx, value: ctx.aspawn(child, value),
    ),
    "spawn what": (
        lambda ctx, value: ctx.spawn(value),
        lambda ctx, value: ctx.aspawn(value),
    ),
    "wait_for": (
        lambda ctx, value: ctx.wait_for(value),
        lambda ctx, value: ctx.await_for(value),
    ),
    "wait_for each": (
        lambda ctx, value: ctx.wait_for([value]),
        lambda ctx, value: ctx.await_for([value]),
    ),
    "slot": (
        lambda ctx, value: ctx.slot(value).__enter__(),
        lambda ctx, value: ctx.slot(value).__aenter__(),
    ),
    "transaction": (
        lambda ctx, value: _complete(ctx, value),
        lambda ctx, value: _acomplete(ctx, value),
    ),
}
ALL = (*METHODS, *ASKING)


class RolledBack(Exception):
    pass


def _name(value: Any) -> str:
    """A name for a keyword argument: Python itself takes texts only."""
    return value if isinstance(value, str) else "name"


def _complete(ctx: Context, value: Any) -> None:
    try:
        with ctx.transaction() as transaction:
            transaction.complete(value)
            raise RolledBack  # noqa: TRY301
    except RolledBack:
        return


async def _acomplete(ctx: Context, value: Any) -> None:
    try:
        async with ctx.transaction() as transaction:
            transaction.complete(value)
            raise RolledBack  # noqa: TRY301
    except RolledBack:
        return


def _outcome(error: BaseException) -> str:
    kind = "refused" if isinstance(error, TenureError) else f"raised {type(error).__name__}"
    return f"{kind}: {error}"[:300]


@app.task(retry=0)
def in_a_process(ctx: Context, method: str) -> dict[str, str]:
    return _tried(ctx, method)


@app.task(retry=0, executor="thread")
def in_a_thread(ctx: Context, method: str) -> dict[str, str]:
    return _tried(ctx, method)


def _tried(ctx: Context, method: str) -> dict[str, str]:
    outcomes = {}
    call = METHODS.get(method) or ASKING[method][0]
    for name, make in VALUES.items():
        try:
            call(ctx, make())
            outcomes[name] = "taken"
        except Exception as error:  # noqa: BLE001
            outcomes[name] = _outcome(error)
        ctx.flush()
    return outcomes


@app.task(retry=0)
async def in_a_coroutine(ctx: Context, method: str) -> dict[str, str]:
    outcomes = {}
    call = METHODS.get(method) or ASKING[method][1]
    for name, make in VALUES.items():
        try:
            if inspect.isawaitable(answer := call(ctx, make())):
                await answer
            outcomes[name] = "taken"
        except Exception as error:  # noqa: BLE001
            outcomes[name] = _outcome(error)
        await ctx.aflush()
    return outcomes


ENDINGS = {"Snooze": Snooze, "Discard": Discard, "Pause": Pause}


@app.task(retry=0)
async def ends_with(ctx: Context, ending: str, value: str) -> None:
    (FOLDER / f"ends-{ctx.job.id}").touch()
    raise ENDINGS[ending](VALUES[value]())


@app.task(retry=0)
async def returns(value: str) -> Any:
    return VALUES[value]()


@app.task(retry=0)
async def says_what_cannot_be_sent(ctx: Context, field: str) -> str:
    """Past all the checks of the context."""
    bad: Any = {"progress": {("a", 1): Raising()}, "give": (float("nan"),)}[field]
    ctx._attempt.link.report(AttemptReport(ctx._attempt.work.run, **{field: bad}))
    await ctx.aflush()
    return "said"


@app.task(retry=0)
async def asks_what_cannot_be_sent(ctx: Context) -> str:
    try:
        await ctx._attempt.arequest("slot", Raising())
    except TenureError as refusal:
        return str(refusal)
    return ""


@app.task(retry=0)
async def neighbour(ctx: Context) -> str:
    (FOLDER / f"started-{ctx.job.id}").touch()
    while not (FOLDER / f"go-{ctx.job.id}").exists():
        await asyncio.sleep(0.02)
    return "finished"


@app.task(retry=0, executor="thread")
def neighbour_in_a_thread(ctx: Context) -> str:
    (FOLDER / f"started-{ctx.job.id}").touch()
    while not (FOLDER / f"go-{ctx.job.id}").exists():
        time.sleep(0.02)
    return "finished"


@app.task(retry=0)
async def saves_again_after_a_refusal(ctx: Context) -> Any:
    ctx.save_checkpoint(page=1)
    try:
        ctx.save_checkpoint(page=float("nan"))
    except TenureError:
        await ctx.save_checkpoint(line=2)
    return dict(ctx.checkpoint)


@app.task(retry=0)
async def emits_subclasses(ctx: Context) -> None:
    class Share(float):
        pass

    await ctx.emit({"text": Text("text"), "count": Count(3), "share": Share(0.5)})


@app.task(retry=0)
async def spawns_with_a_huge_integer(ctx: Context) -> int:
    return (await ctx.aspawn(child, 2**80)).id
