"""Which tenants a worker visits, beside running their jobs."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.config import Settings
from tenure.errors import NotFound
from tenure.runtime.keeper.services.chores import Chore, Rounds
from tenure.runtime.keeper.services.recovery import RecoveryService
from tenure.store.store import AsyncStore


class Diary:
    """Where somebody was, and where to come again."""

    def __init__(self) -> None:
        self._visited: list[str] = []
        self.again: set[str] = set()

    def note(self, tenant: str) -> bool:
        self._visited.append(tenant)
        if tenant == "broken":
            raise NotFound("there is no such tenant")
        return tenant in self.again

    def rounds(
        self, run_once: Callable[[], Coroutine[Any, Any, object]], n: int = 1
    ) -> list[list[str]]:
        found = []
        for _ in range(n):
            asyncio.run(run_once())
            found.append(sorted(self._visited))
            self._visited.clear()
        return found


def store_of(name: str) -> Any:
    return SimpleNamespace(tenant=SimpleNamespace(name=name))


def test_a_round_visits_those_who_have_moved_and_one_in_turn() -> None:
    diary = Diary()

    class Walk(Rounds):
        async def visit(self, store: AsyncStore) -> bool:
            return diary.note(store.tenant.name)

    names = ("a", "b", "broken", "c")
    activity: Any = SimpleNamespace(moves=dict.fromkeys(names, 1))
    walk = Walk(Settings(), names, activity, store_of)
    assert diary.rounds(walk.run_once) == [["a", "b", "broken", "c"]]
    # Who could not be visited is tried again, and holds up nobody.
    assert diary.rounds(walk.run_once, 3) == [["b", "broken"], ["broken"], ["broken", "c"]]
    del activity.moves["broken"]
    activity.moves["b"] += 1
    diary.again.add("c")
    assert diary.rounds(walk.run_once, 2) == [["a", "b"], ["b"]]
    assert diary.rounds(walk.run_once, 3) == [["broken"], ["c"], ["a", "c"]]


def test_a_chore_visits_those_in_which_it_is_open() -> None:
    diary = Diary()

    class Errand(Chore):
        name = "errand"

        async def visit(self, store: AsyncStore) -> bool:
            return diary.note(store.tenant.name)

    errands = {"a", "b", "broken", "gone"}
    errand = Errand(Settings(), ("a", "b", "broken"), {"errand": errands}, store_of)
    diary.again.add("a")
    assert diary.rounds(errand.run_once, 2) == [["a", "b", "broken"], ["a", "broken"]]
    errands.add("b")
    diary.again.clear()
    assert diary.rounds(errand.run_once, 2) == [["a", "b", "broken"], ["broken"]]


@pytest.mark.parametrize(
    ("tenants", "changes", "visits"),
    [(1, {}, 4), (25, {}, 100), (40, {}, 100), (40, {"pending_orphan_after": "1h"}, 160)],
)
def test_every_sweep_looks_for_jobs_without_a_beat_in_up_to_25_tenants(
    tenants: int, changes: dict[str, Any], visits: int
) -> None:
    diary = Diary()

    async def sweep(_grace: object) -> Any:
        return SimpleNamespace(dead=(), tenants=())

    async def recover(tenant: str) -> None:
        diary.note(tenant)

    lease: Any = SimpleNamespace(is_current=True)
    database: Any = SimpleNamespace(shared=SimpleNamespace(sweep=sweep))
    exchanges: Any = dict.fromkeys(map(str, range(tenants)))
    recovery = RecoveryService(Settings(**changes), lease, database, exchanges)
    recovery._recover = recover  # type: ignore[method-assign]
    assert sum(map(len, diary.rounds(recovery.run_once, 4))) == visits
