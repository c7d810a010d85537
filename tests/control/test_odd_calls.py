"""Python calls with odd values: taken, or refused with one of Tenure's errors, in a sentence.

ValueError and TypeError count too. The options are read from the code, so a new one is tried.
"""

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import opentelemetry.trace  # noqa: F401  so that calls prepare spans
import pytest

from tenure import Tenure
from tenure.app import CommonOptions, TaskOptions
from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.enqueue_options import EnqueueOptions
from tenure.domain.retry import Retry
from tenure.domain.tenant import Tenant
from tenure.errors import SettingInvalid, TenureError


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("it has no text")


def deep() -> Any:
    nested: Any = []
    for _ in range(3000):
        nested = [nested]
    return nested


ODD: dict[str, Any] = {
    "none": None,
    "empty": "",
    "text": "no such thing",
    "long": "x" * 100_000,
    "surrogate": "a\ud800b",
    "NUL": "a\0b",
    "control": "a\x1b[31m\nb",
    "digits": "9" * 5000,
    "true": True,
    "zero": 0,
    "negative": -1,
    "huge": 10**30,
    "digits too many": 10**5000,
    "nan": math.nan,
    "infinite": math.inf,
    "bytes": b"x",
    "list": [],
    "list of odd": [None, 1, "", "a\ud800"],
    "mapping": {},
    "mapping of odd": {"": None, "a\ud800": math.nan},
    "deep": deep(),
    "object": object(),
    "unprintable": Unprintable(),
    "longest": timedelta.max,
    "shortest": timedelta.min,
    "naive": datetime(2030, 1, 1),  # noqa: DTZ001
    "first year": datetime.min.replace(tzinfo=UTC),
    "last year": datetime.max.replace(tzinfo=UTC),
    "function": print,
    "class": dict,
}
# By what a mistake of the caller is told; an OverflowError or AttributeError is ours.
FINE = (TenureError, ValueError, TypeError)
_numbers = count()


def refusals(call: Callable[[Any], object]) -> Iterator[str]:
    """Return what was told in another way than it should be, for each value."""
    for name, value in ODD.items():
        try:
            call(value)
        except FINE as error:
            sentence = str(error)
            if not sentence or len(sentence) > 2000 or "Traceback" in sentence:
                yield f"{name}: {type(error).__name__} says {sentence[:200]!r}"
        except BaseException as error:  # noqa: BLE001 - that is what is looked for
            yield f"{name}: {type(error).__name__}: {error}"[:300]


def work(x: Any = None) -> Any:
    return x


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    with Tenure(database, settings=Settings()) as app:
        yield app


@pytest.mark.parametrize("name", Settings.names())
def test_a_setting(name: str) -> None:
    assert list(refusals(lambda value: Settings(**{name: value}))) == []
    assert list(refusals(lambda value: Settings().replace(**{name: value}))) == []
    env = f"TENURE_{name.upper()}"
    for value in ODD.values():
        if isinstance(value, str):
            with suppress(SettingInvalid):
                Settings.from_environment({env: value})


def test_a_setting_that_does_not_exist_is_refused_with_the_nearest() -> None:
    makers: list[Callable[..., Settings]] = [
        Settings,
        Settings().replace,
        Settings.production,
        Settings.development,
        Settings.high_reliability,
    ]
    for make in makers:
        with pytest.raises(SettingInvalid) as refused:
            make(leese="20s")
        assert str(refused.value) == "leese: there is no such setting; the nearest is lease"
    with pytest.raises(SettingInvalid, match="TENURE_LEESE: there is no such setting"):
        Settings.from_environment({"TENURE_LEESE": "20s"})


def test_the_settings_show_no_password() -> None:
    settings = Settings(
        database_url="postgresql://ada:geheim@host/db", artifacts="s3://key:geheim@bucket"
    )
    assert "geheim" not in repr(settings)
    assert "geheim" not in repr(Client(settings=settings))


@pytest.mark.parametrize(
    "name", sorted({*TaskOptions.__annotations__, *CommonOptions.__annotations__})
)
def test_an_option_of_a_task(app: Tenure, name: str) -> None:
    def declare(value: Any) -> object:
        more = {} if name == "name" else {"name": f"task-{next(_numbers)}"}
        return app.task(**{name: value, **more})(work)

    assert list(refusals(declare)) == []


@pytest.mark.parametrize("name", sorted({*EnqueueOptions.__annotations__} - {"connection"}))
def test_an_option_of_a_job(app: Tenure, name: str) -> None:
    task = app.task(name="work")(work)
    assert list(refusals(lambda value: task.using(**{name: value}).enqueue())) == []


CALLS: dict[str, Callable[[Tenure, Any], object]] = {
    "Tenure(url)": lambda _, it: Tenure(it),
    "Tenure(settings)": lambda _, it: Tenure(settings=it),
    "Tenant": lambda _, it: Tenant(it),
    "Retry(max)": lambda _, it: Retry(max=it),
    "Retry(base)": lambda _, it: Retry(base=it),
    "task": lambda app, it: app.task(it),
    "command(name)": lambda app, it: app.command(it, ["true"]),
    "command(argv)": lambda app, it: app.command(f"c-{next(_numbers)}", it),
    "schedule(cron)": lambda app, it: app.schedule(it, task=_task(app)),
    "schedule(tz)": lambda app, it: app.schedule("0 3 * * *", task=_task(app), tz=it),
    "schedule(overlap)": lambda app, it: app.schedule("0 3 * * *", task=_task(app), overlap=it),
    "schedule(name)": lambda app, it: app.schedule("0 3 * * *", task=_task(app), name=it),
    "schedule(catch_up)": lambda app, it: app.schedule("0 3 * * *", task=_task(app), catch_up=it),
    "schedule(args)": lambda app, it: app.schedule("0 3 * * *", task=_task(app), args=it),
    "schedule(task)": lambda app, it: app.schedule("0 3 * * *")(it),
    "worker(queues)": lambda app, it: app.worker(queues=it),
    "worker(tenants)": lambda app, it: app.worker(tenants=it),
    "worker(concurrency)": lambda app, it: app.worker(concurrency=it),
    "enqueue(x)": lambda app, it: _task(app).enqueue(it),
    "enqueue(unknown)": lambda app, it: _task(app).enqueue(y=it),
    "enqueue_many": lambda app, it: _task(app).enqueue_many(it),
    "enqueue_many(one)": lambda app, it: _task(app).enqueue_many([it, it]),
    "handle": lambda app, it: app.handle(it).status,
    "handle(tenant)": lambda app, it: app.handle(1, tenant=it).status,
    "store_of": lambda app, it: app.store_of(it).statistics(),
    "create_tenant": lambda app, it: app.create_tenant(it) if it != "x" else None,
    "drop_tenant": lambda app, it: app.drop_tenant(it),
    "migrate": lambda app, it: app.migrate(it),
    "check_cancellation_requested": lambda app, it: app.check_cancellation_requested(it),
    "cancel_job": lambda app, it: asyncio.run(_cancelled(app, it)),
    "store.show": lambda app, it: app.store.show(it),
    "store.stop(reason)": lambda app, it: app.store.stop(1, reason=it),
    "store.stop(grace)": lambda app, it: app.store.stop(1, grace=it),
    "store.list_jobs": lambda app, it: app.store.list_jobs(it),
    "store.list_jobs(status)": lambda app, it: app.store.list_jobs({"status": it}),
    "store.list_jobs(n)": lambda app, it: app.store.list_jobs(n=it),
    "store.history": lambda app, it: app.store.history(it),
    "store.create_pool": lambda app, it: app.store.create_pool(it, ["a"]),
    "store.set_strategy": lambda app, it: app.store.set_strategy("s", it),
    "store.set_policy": lambda app, it: app.store.set_policy("p", it),
}


async def _cancelled(app: Tenure, job: Any) -> object:
    try:
        return await app.cancellations.cancel_job(job, reason="x")
    finally:
        await app.aclose()


def _task(app: Tenure) -> Any:
    return app.tasks["work"]


@pytest.mark.fresh_database
@pytest.mark.parametrize("name", CALLS)
def test_a_call(app: Tenure, name: str) -> None:
    app.task(name="work")(work)
    assert list(refusals(lambda value: CALLS[name](app, value))) == []
