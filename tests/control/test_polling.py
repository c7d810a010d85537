"""What a new subscriber receives before its polls have had their first answers."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tenure.control.polling import Event, Poll, Subscriber
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
