"""How the program of a keeper ends when its services do."""

from contextlib import nullcontext
from typing import Any, cast

import pytest

from tenure.errors import NotAllowed
from tenure.runtime.keeper import program

SENTENCE = NotAllowed("the database role may not do this: renew")


@pytest.mark.parametrize(
    ("raised", "comes"),
    [
        (ExceptionGroup("services", [ExceptionGroup("one", [SENTENCE])]), NotAllowed),
        (ExceptionGroup("services", [SENTENCE, ZeroDivisionError()]), ExceptionGroup),
    ],
)
def test_what_ended_a_service_is_a_sentence_and_a_bug_is_a_traceback(
    raised: Exception, comes: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Process:
        def __init__(self, _plan: Any) -> None:
            pass

        async def run(self) -> None:
            raise raised

    monkeypatch.setattr(program, "WorkerProcess", Process)
    with pytest.raises(comes):
        program.run(cast(Any, None), lambda _process: nullcontext())
