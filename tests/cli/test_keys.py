"""Single keys from a terminal, and a new size of it."""

import os
import pty
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from tenure.cli.top import RESIZED, keys


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of a terminal that stands for ours."""
    typed, ours = pty.openpty()
    with os.fdopen(ours) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield typed
    os.close(typed)


def test_each_key_comes_at_once(typing: int) -> None:
    with keys() as pressed:
        os.write(typing, b"ab")
        assert [pressed.wait(10), pressed.wait(10), pressed.wait(0)] == ["a", "b", None]


def test_a_new_size_is_told_whichever_thread_gets_the_signal(typing: int) -> None:
    begun, over = threading.Event(), threading.Event()

    def signalled() -> None:
        begun.set()
        over.wait(30)

    thread = threading.Thread(target=signalled)
    thread.start()
    begun.wait()
    assert thread.ident is not None

    def resize() -> None:
        assert thread.ident is not None
        signal.pthread_kill(thread.ident, signal.SIGWINCH)

    sender = threading.Timer(0.2, resize)
    with keys() as pressed:
        sender.start()
        asked = time.monotonic()
        assert pressed.wait(30) == RESIZED
        assert time.monotonic() - asked < 20
        assert pressed.wait(0) is None
    over.set()
    thread.join()
    sender.join()


def test_what_was_there_before_is_there_again(typing: int) -> None:
    before = signal.getsignal(signal.SIGWINCH)
    with keys():
        assert signal.getsignal(signal.SIGWINCH) is not before
    assert signal.getsignal(signal.SIGWINCH) is before
    assert signal.set_wakeup_fd(-1) == -1
