"""The cancellation service against a real worker."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import Any, TypeVar

import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Rung, State
from tenure.errors import InputRefused, JobNotEnded
from tenure.stops import (
    CancellationRecord,
    CancellationResult,
    CancellationService,
    CancellationStatus,
)
from tests.apps import cancelling
from tests.system.stage import Stage, staged
from tests.waiting import soon
from tests.workers import eventually

T = TypeVar("T")


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(cancelling.app, shared_database, folder, "cancelling", "--processes", "4") as stage:
        yield stage


@pytest.fixture
def run(stage: Stage, shared_database: str) -> Callable[..., Any]:
    def run(story: Callable[[CancellationService], Coroutine[Any, Any, T]]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(60), Client(shared_database, settings=Settings()) as client:
                return await story(CancellationService(client))

        return asyncio.run(bounded())

    return run


def make_root(stage: Stage, name: str) -> int:
    """A job of tasks that does not end by itself."""
    root = NewJob(key=name)
    held = NewJob(key=f"{name} is held", parent=name, task="nobody runs this", queue="none")
    return stage.store.enqueue([root, held])[0].id


def rungs(result: CancellationResult) -> dict[int, Rung | None]:
    return {one.job_id: one.rung for one in result.members}


def test_a_whole_job_is_cancelled_and_the_result_says_what_that_came_to(
    stage: Stage, run: Callable[..., Any]
) -> None:
    stage.store.create_pool("desks", ["north"])
    root = make_root(stage, "whole")
    done = cancelling.book.using(parent=root).enqueue("hotel")
    done.wait("20s")
    running = [
        stage.start(cancelling.waits.using(parent=root, pools=["desks"])),
        stage.start(cancelling.waits_in_a_process.using(parent=root)),
    ]
    later = cancelling.waits.using(parent=root, after=running).enqueue()

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_job("whole", "customer left")

    result: CancellationResult = run(story)
    assert (result.success, result.status, result.errors) == (
        True,
        CancellationStatus.COMPLETED,
        (),
    )
    assert result.tasks_completed == (done.id,)
    assert {later.id, *(one.id for one in running)} <= set(result.tasks_cancelled)
    assert len(result.runners_terminated) == 2
    assert all(runner for runner in result.runners_terminated)
    assert result.slots_released == ("desks/north",)
    assert result.artifacts_preserved == (f"{done.id}/hotel.txt",)
    assert {rungs(result)[one.id] for one in running} == {Rung.INTERRUPTED}
    assert 0 < result.duration_seconds < 20
    for handle in running:
        job = stage.store.show(handle.id)
        assert (job.state, job.cancellation_reason) == (State.CANCELLED, "customer left")
    assert stage.store.show(done.id).result == "hotel"
    stage.nothing_is_left(*(one.id for one in running))


def test_a_graceful_stop_asks_first_and_a_forced_one_kills_at_once(
    stage: Stage, run: Callable[..., Any]
) -> None:
    graceful, forced, hurried = [stage.start(cancelling.stubborn) for _ in range(3)]

    async def story(service: CancellationService) -> list[CancellationResult]:
        return [
            *await asyncio.gather(
                service.cancel_job(graceful.id, grace="1500ms"),
                service.cancel_job(forced.id, force=True),
                service.cancel_job(hurried.id, strategy="immediate"),
            )
        ]

    slow, *quick = run(story)
    assert all(result.success for result in (slow, *quick))
    assert slow.duration_seconds >= 1.5
    assert stage.lines(f"ignored-{graceful.id}"), "it was interrupted before it was killed"
    assert rungs(slow) == {graceful.id: Rung.KILLED}
    for handle, result in zip((forced, hurried), quick, strict=True):
        assert rungs(result) == {handle.id: Rung.KILLED}
        assert not stage.lines(f"ignored-{handle.id}")
        assert stage.store.cancellation(result.cancellation_id).force


def test_asking_with_force_escalates_the_running_stop(
    stage: Stage, run: Callable[..., Any]
) -> None:
    handle = stage.start(cancelling.stubborn)

    async def story(service: CancellationService) -> list[CancellationResult]:
        patient = asyncio.create_task(service.cancel_job(handle.id, grace="1h"))
        await soon(lambda: stage.lines(f"ignored-{handle.id}"), "it is interrupted in vain")
        return [await service.cancel_job(handle.id, force=True), await patient]

    first, second = run(story)
    assert first.cancellation_id == second.cancellation_id
    assert rungs(second) == {handle.id: Rung.KILLED}


def test_many_who_cancel_at_once_are_given_one_cancellation(
    stage: Stage, shared_database: str, run: Callable[..., Any]
) -> None:
    handle = stage.start(cancelling.waits.using(grace="10s"))

    async def story(service: CancellationService) -> list[CancellationResult]:
        async with Client(shared_database, settings=Settings()) as other:
            services = [service, CancellationService(other)] * 5
            asking = [one.cancel_job(handle.id) for one in services]
            return await asyncio.gather(*asking)

    results = run(story)
    assert {one.cancellation_id for one in results} == {stage.store.show(handle.id).cancellation_id}
    again = [one for one in stage.store.cancellations(100) if one.job_id == handle.id]
    assert len(again) == 1


def test_what_cannot_be_cleaned_up_makes_it_partial_and_is_named(
    stage: Stage, run: Callable[..., Any]
) -> None:
    root = make_root(stage, "untidy")
    good = stage.start(cancelling.waits.using(parent=root))
    bad = stage.start(cancelling.untidy.using(parent=root))

    async def story(
        service: CancellationService,
    ) -> tuple[CancellationResult, list[CancellationRecord]]:
        ended: list[CancellationRecord] = []
        async with service.on_end(ended.append):
            result = await service.cancel_job(root)
        return result, ended

    result, ended = run(story)
    assert (result.success, result.status) == (False, CancellationStatus.PARTIAL)
    [error] = result.errors
    assert "lock file" in error
    members = {one.job_id: one for one in result.members}
    assert (members[bad.id].error, members[good.id].error) == (error, None)
    assert {stage.store.show(one).state for one in (root, good.id, bad.id)} == {State.CANCELLED}
    assert [record.status for record in ended] == [CancellationStatus.PARTIAL]


@pytest.mark.parametrize("cascade", [True, False])
def test_a_running_task_is_cancelled_with_what_comes_after_it_or_without(
    stage: Stage, run: Callable[..., Any], cascade: bool
) -> None:
    root = make_root(stage, f"cascade {cascade}")
    task = stage.start(cancelling.waits.using(parent=root))
    other = stage.start(cancelling.waits.using(parent=root))
    after = cancelling.waits.using(parent=root, after=task).enqueue()

    async def story(service: CancellationService) -> CancellationResult:
        result = await service.cancel_task(task.id, "wrong", cascade, job_id=root)
        assert stage.store.show(other.id).state is State.RUNNING
        await service.cancel_job(root)
        return result

    result = run(story)
    assert result.tasks_cancelled == ((after.id,) if cascade else ())
    assert rungs(result)[task.id] is Rung.INTERRUPTED


def test_a_stop_continues_after_the_wait_and_can_be_watched_to_its_end(
    stage: Stage, run: Callable[..., Any]
) -> None:
    handle = stage.start(cancelling.stubborn)

    async def story(service: CancellationService) -> list[CancellationRecord]:
        with pytest.raises(JobNotEnded, match="is stopping_runners after 200ms of waiting"):
            await service.cancel_job(handle.id, grace="2s", timeout="200ms")
        record = await service.record_of(handle.id)
        async with aclosing(service.watch(record.cancellation_id)) as seen:
            return [one async for one in seen]

    seen: list[CancellationRecord] = run(story)
    assert seen[0].status is CancellationStatus.STOPPING_RUNNERS
    assert seen[-1].status is CancellationStatus.COMPLETED
    assert [one.completed_at is not None for one in seen[:-1]] == [False] * (len(seen) - 1)
    assert len({one.cancellation_id for one in seen}) == 1
    assert seen[-1].members[0].rung is Rung.KILLED


# Undoing.


def booked(stage: Stage, name: str, *things: str) -> tuple[int, list[int]]:
    root = make_root(stage, name)
    tasks = []
    for thing in things:
        handle = cancelling.book.using(parent=root).enqueue(thing)
        handle.wait("20s")
        tasks.append(handle.id)
    return root, tasks


def unbooked(stage: Stage, *things: str) -> list[str]:
    """What was undone of these, in its order, once all of it is."""

    def look() -> list[str] | None:
        lines = [line for line in stage.lines("unbooked") if line in things]
        return lines if len(lines) == len(things) else None

    return eventually(look, f"{things} are undone") or []


def test_a_cancellation_may_undo_all_that_was_completed(
    stage: Stage, run: Callable[..., Any]
) -> None:
    root, _ = booked(stage, "trip", "flight", "room", "car")

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_job(root, rollback=True)

    assert run(story).success
    assert unbooked(stage, "flight", "room", "car") == ["car", "room", "flight"]


def test_named_tasks_are_undone_with_the_cancellation_or_after_it(
    stage: Stage, run: Callable[..., Any]
) -> None:
    root, (ship, tent, bike) = booked(stage, "tour", "ship", "tent", "bike")

    async def story(service: CancellationService) -> tuple[int, int]:
        result = await service.cancel_job(root, rollback_tasks=[ship])
        await asyncio.to_thread(unbooked, stage, "ship")
        undo = await service.rollback(result.cancellation_id, [tent], reason="rain")
        again = await service.rollback(result.cancellation_id, [tent])
        return undo, again

    undo, again = run(story)
    assert undo == again
    stage.watch.becomes(undo, State.COMPLETED)
    assert unbooked(stage, "ship", "tent") == ["ship", "tent"]
    assert "bike" not in stage.lines("unbooked")
    assert stage.store.show(bike).state is State.COMPLETED


def test_a_task_that_is_none_of_the_cancellation_cannot_be_undone(
    stage: Stage, run: Callable[..., Any]
) -> None:
    root, _ = booked(stage, "walk", "boots")
    stranger = cancelling.book.enqueue("hat")
    stranger.wait("20s")

    async def story(service: CancellationService) -> None:
        result = await service.cancel_job(root)
        for tasks in ([], [stranger.id]):
            with pytest.raises(InputRefused):
                await service.rollback(result.cancellation_id, tasks)

    run(story)
    assert "hat" not in stage.lines("unbooked")
