"""Whatever a job says goes over the wire, and takes nobody else's words with it."""

import socket
import threading
from typing import Any

import pytest

from tenure.errors import InputRefused
from tenure.runtime import wire
from tenure.runtime.messages import (
    AttemptEnded,
    AttemptReport,
    AttemptReports,
    Endings,
    Message,
    RequestAnswer,
)
from tenure.runtime.wire import Frames, PlainChannel, frame, from_keeper, from_runner


def sent(message: Message) -> list[Any]:
    return Frames(from_runner).feed(frame(message))


def test_what_does_not_fit_into_one_frame_goes_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BYTES", 1000)
    many = tuple(AttemptEnded(run, "completed", value=b"x" * 300) for run in range(10))
    messages = sent(Endings(many))
    assert len(messages) > 1
    assert tuple(one for message in messages for one in message.ended) == many


def test_one_thing_that_is_too_large_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_BYTES", 1000)
    with pytest.raises(InputRefused, match="1000"):
        frame(RequestAnswer(1, "x" * 2000))
    with pytest.raises(InputRefused, match="1000"):
        Frames(from_keeper).feed((1001).to_bytes(4, "big"))


@pytest.mark.parametrize(
    ("said", "comes"),
    [("\ud800", "\\ud800"), (1 << 70, str(1 << 70)), (-1, -1), (object, "<class 'object'>")],
)
def test_what_cannot_be_written_is_written_as_near_as_can_be(said: Any, comes: Any) -> None:
    neighbour = AttemptReport(2, partials=(b"1",), logs=(("info", "kept"),))
    [message] = sent(AttemptReports((AttemptReport(1, progress={"done": said}), neighbour)))
    [first, second] = message.reports
    assert first.progress == {"done": comes}
    assert second == neighbour


def test_threads_that_send_at_once_do_not_mix_their_frames() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = PlainChannel(from_keeper, ours)
        said = AttemptReports((AttemptReport(1, partials=(b"x" * 100_000,)),))
        threads = [threading.Thread(target=channel.send, args=(said,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        reader = PlainChannel(from_runner, theirs)
        heard: list[Any] = []
        while len(heard) < len(threads):
            heard += reader.receive()
        for thread in threads:
            thread.join()
        assert heard == [said] * len(threads)
