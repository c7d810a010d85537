"""Tasks of the shop: of the framework of Django, and of Tenure."""

import asyncio
import logging
import os
import time
from typing import Any

from django.db import connection

from shop.framework import TaskContext, signals, task
from shop.models import Order
from tenure import Context, Retry
from tenure.contrib.django import app, task_options

logging.getLogger("shop").setLevel("INFO")


class OutOfStock(Exception):
    pass


@task(queue_name="mail", priority=7)
def ship(order: int) -> str:
    """Ship an order."""
    found = Order.objects.get(pk=order)
    found.state = "shipped"
    found.save()
    return found.name


@task
async def aship(order: int, *notes: str, **marks: int) -> dict[str, Any]:
    found = await Order.objects.aget(pk=order)
    found.state = "shipped"
    await found.asave()
    return {"name": found.name, "notes": list(notes), "marks": marks}


@task(backend="at_once")
def refuse(name: str) -> None:
    raise OutOfStock(f"no {name}")


@task(backend="at_once")
def odd() -> object:
    return object()


@task(takes_context=True)
def count_attempts(context: TaskContext, until: int) -> list[Any]:
    context.tenure.progress(context.attempt, until)
    context.tenure.log.warning("attempt %s", context.attempt)
    if context.attempt < until:
        raise ValueError(f"attempt {context.attempt}")
    return [context.task_result.id, context.attempt, context.task_result.status]


@task(backend="at_once", queue_name="default")
@task_options(retry=2, timeout="90s", grace=3, target="order:{order}", limits=["api:{kind}"])
def reprice(order: int, kind: str = "plain") -> int:
    return order


@task(takes_context=True)
@task_options(unique="count:{until}", executor="thread")
def count_once(context: TaskContext, until: int) -> int:
    return until


@task
def wait_for_a_stop() -> None:
    while True:
        time.sleep(0.01)


@task
def process_and_connection() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return [os.getpid(), cursor.fetchone()[0]]


@task
def break_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@app.task(retry=0)
async def read_slowly() -> int:
    """Read a row at a time, from a cursor that stays open."""
    count = 0
    async for _ in Order.objects.aiterator(chunk_size=1):
        count += 1
        await asyncio.sleep(0.01)
    return count


@app.task(retry=Retry(max=3, base="0s"))
async def pack(ctx: Context, order: int) -> str:
    found = await Order.objects.aget(pk=order)
    ctx.progress(1, 1, found.name)
    return found.name


@app.task
def note(text: str) -> str:
    return text


def _log(task_result: Any, **_: Any) -> None:
    logging.getLogger("shop").info("%s %s", task_result.status, task_result.attempts)


signals.task_started.connect(_log)
signals.task_finished.connect(_log)
