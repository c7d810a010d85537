"""What a new subscriber receives before its polls have had their first answers."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from tenure.control import polling
from tenure.control.polling import Event, Poll, Reader, Subscriber
from tests.waiting import soon


def event(number: int, *, is_last: bool = False) -> Event[Any]:
    return Event("statistics", number, str(number), is_last)


class Answers:
    """Answers of a poll, each given when the test releases it."""

    def __init__(self, *answers: Sequence[Event[Any]]) -> None:
        self._answers = list(answers)
        self._released = asyncio.Semaphore(0)

    def release(self) -> None:
        self._released.release()

    async def __call__(self) -> Sequence[Event[Any]]:
        await self._released.acquire()
        return self._answers.pop(0)


async def answer(poll: Poll, answers: Answers, number: int) -> None:
    answers.release()
    poll.wake()
    await soon(lambda: poll.answered == number, f"it has answered {number} times")


def test_nothing_is_received_before_each_poll_has_answered() -> None:
    """Else a change after the first event and before the first answer of a poll would be lost."""

    async def story() -> None:
        quick, slow = Answers([event(1)]), Answers([event(2)])
        polls = [Poll(quick, 600, ends=False), Poll(slow, 600, ends=False)]
        subscriber = Subscriber(polls)
        for poll in polls:
            poll.join(subscriber)
        async with asyncio.TaskGroup() as group:
            runs = [group.create_task(poll.run()) for poll in polls]
            news = group.create_task(subscriber.news())
            quick.release()
            await soon(lambda: polls[0].answered == 1, "the first poll has answered")
            for _ in range(10):
                await asyncio.sleep(0)
            assert not news.done()
            slow.release()
            assert [found.value for found in await news] == [1, 2]
            for run in runs:
                run.cancel()

    asyncio.run(story())


def test_a_subscriber_receives_an_end_that_comes_after_it_joined() -> None:
    async def story() -> None:
        answers = Answers([], [event(1, is_last=True)], [event(2, is_last=True)])
        poll = Poll(answers, 600, ends=False)
        first, second = Subscriber([poll]), Subscriber([poll])
        poll.join(first)
        async with asyncio.TaskGroup() as group:
            run = group.create_task(poll.run())
            await answer(poll, answers, 1)
            await answer(poll, answers, 2)
            poll.join(second)
            await answer(poll, answers, 3)
            assert [found.value for found in second.take()] == [2], "not what had ended before"
            assert [found.value for found in first.take()] == [2], "the newest state alone"
            run.cancel()

    asyncio.run(story())


def test_waking_many_readers_lets_other_work_of_the_loop_run_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(polling, "WOKEN_TOGETHER", 5)

    async def story() -> list[int]:
        answers = Answers([event(1)], [event(2)])
        poll = Poll(answers, 600, ends=False)
        readers = [Reader([poll]) for _ in range(52)]
        for reader in readers:
            poll.join(reader)
        woken = [0] * len(readers)

        async def read(number: int) -> None:
            while await readers[number].is_ready():
                woken[number] += 1
                await readers[number].wait()

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(number)) for number in range(len(readers))]
            tasks.append(group.create_task(poll.run()))
            await answer(poll, answers, 1)
            await soon(lambda: sum(woken) == len(readers), "all were woken")
            answers.release()
            poll.wake()
            seen = [sum(woken)]
            while seen[-1] < 2 * len(readers):
                await asyncio.sleep(0)
                seen.append(sum(woken))
            for task in tasks:
                task.cancel()
        assert woken == [2] * len(readers)
        return [after - before for before, after in itertools.pairwise(seen)]

    assert max(asyncio.run(story())) <= 10


def test_a_reader_that_was_woken_before_it_waits_goes_on() -> None:
    """Also if two wait at the same time, and one of them gives up."""

    async def story() -> None:
        reader = Reader([])
        reader.wake()
        await reader.wait()
        waits = [asyncio.create_task(reader.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(wait.done() for wait in waits)
        waits.pop().cancel()
        await asyncio.sleep(0)
        reader.wake()
        await asyncio.gather(*waits)
        again = asyncio.create_task(reader.wait())
        await asyncio.sleep(0)
        assert not again.done(), "what woke it is used up"
        again.cancel()

    async def bounded() -> None:
        async with asyncio.timeout(5):
            await story()

    asyncio.run(bounded())


def test_a_wait_that_is_given_up_leaves_nothing_behind() -> None:
    async def check() -> None:
        reader = Reader([])
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await reader.wait()
        assert not reader._waiting
        waiting = asyncio.create_task(reader.wait())
        await asyncio.sleep(0)
        reader.wake()
        await waiting

    asyncio.run(check())
