"""The registry of a job's resources."""

import asyncio
import threading
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import timedelta
from typing import Any, TypeVar

import msgspec

from tenure.domain.bounds import MAX_ARGS_BYTES
from tenure.domain.duration import duration
from tenure.domain.job import JSON
from tenure.domain.values import name_text, shown, storable_text
from tenure.errors import InputRefused, ResourceClosed
from tenure.runtime.resources.adapters import EnteredResourceManager, HeldResourceManager
from tenure.runtime.resources.closer import Entry
from tenure.runtime.resources.manager import ResourceManager
from tenure.runtime.resources.selection import resource_for
from tenure.store.new_jobs import encode_bounded

T = TypeVar("T")
_MAX_NAME = 200  # characters
Seconds = float | str | timedelta  # a bare number is seconds
Again = tuple[Any, Mapping[str, JSON]]  # a task or its name, and its arguments


class Registry:
    """The resources to close at the end."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._closing = False

    @property
    def resources(self) -> list[ResourceManager]:
        """Return the registered resources, each as its manager."""
        return [entry.manager for entry in self._entries]

    @property
    def retries(self) -> list[tuple[str, Mapping[str, JSON]]]:
        """Return the tasks, with arguments, that would clean up if this process died now."""
        return [entry.again for entry in self._entries if entry.again is not None]

    def register_resource(self, resource: ResourceManager) -> None:
        """Register a manager, as ``add`` does."""
        self.add(resource)

    def add(
        self,
        thing: T,
        name: str | None = None,
        timeout: Seconds | None = None,
        again: Again | None = None,
    ) -> T:
        """Close an object at the end; return it.

        A context manager must have been entered before. ``again`` is a task, with arguments, that
        closes the object if this process cannot.
        """
        self._refuse_if_closing()
        if all(thing is not entry.thing for entry in self._entries):
            self._register(thing, resource_for(thing), name, timeout, again)
        return thing

    def enter(
        self,
        context: AbstractContextManager[T],
        name: str | None = None,
        timeout: Seconds | None = None,
        again: Again | None = None,
    ) -> T:
        """Enter a context manager now and leave it at the end; return its target."""
        self._refuse_if_closing()
        value = context.__enter__()
        try:
            self._register(context, EnteredResourceManager(context), name, timeout, again)
        except BaseException as error:
            context.__exit__(type(error), error, error.__traceback__)
            raise
        return value

    async def aenter(
        self,
        context: AbstractAsyncContextManager[T],
        name: str | None = None,
        timeout: Seconds | None = None,  # noqa: ASYNC109
        again: Again | None = None,
    ) -> T:
        """Enter a context manager now and leave it at the end, both in a task of its own."""
        self._refuse_if_closing()
        holder = HeldResourceManager(context)
        value: T = await holder.enter()
        try:
            self._register(context, holder, name, timeout, again)
        except BaseException as error:
            holder.ended_by = error
            await holder.close_gracefully()
            raise
        return value

    def remove(self, thing: Any) -> None:
        """Forget an object: the caller closes it."""
        with self._lock:
            self._entries = [
                entry
                for entry in self._entries
                if thing is not entry.thing and thing is not entry.manager
            ]

    def _register(
        self,
        thing: Any,
        manager: ResourceManager,
        name: str | None,
        timeout: Seconds | None,
        again: Again | None,
    ) -> None:
        entry = Entry(
            thing=thing,
            manager=manager,
            name=_name(manager, name),
            timeout=None if timeout is None else duration(timeout).total_seconds(),
            again=None if again is None else _task_and_arguments(again),
            loop=_running_loop(),
        )
        with self._lock:
            self._refuse_if_closing()
            self._entries.append(entry)

    def _refuse_if_closing(self) -> None:
        if self._closing:
            raise ResourceClosed("the resources are being closed, and nothing can be added to them")


def _task_and_arguments(again: Again) -> tuple[str, Mapping[str, JSON]]:
    if not isinstance(again, tuple) or len(again) != 2 or not isinstance(again[1], Mapping):
        raise InputRefused(f"again is a task and a dict of its arguments, not {shown(again)}")
    task, args = again
    name = task if isinstance(task, str) else getattr(task, "name", None)
    if not isinstance(name, str):
        raise InputRefused(f"again: {shown(task)} is neither a task nor the name of a task")
    text = encode_bounded(dict(args), "the arguments of again", MAX_ARGS_BYTES)
    return name_text(name, "the name of a task", _MAX_NAME), msgspec.json.decode(text)


def _name(manager: ResourceManager, name: str | None) -> str:
    """Return the name of a resource in the report."""
    if name is not None and not (isinstance(name, str) and not name):
        return name_text(name, "the name of a resource", _MAX_NAME)
    return storable_text(str(manager.name or type(manager).__name__))[:_MAX_NAME]


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
