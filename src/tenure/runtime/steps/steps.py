"""The steps of one attempt: what was kept answers, everything else runs and is kept.

A step is in the database before its value is returned, so at most the step in flight is repeated.
"""

import random
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import count
from typing import Any, NamedTuple

import msgspec

from tenure.control.signature import Signature
from tenure.domain.duration import in_words
from tenure.domain.retry import Retry
from tenure.domain.step import KeptStep, KeptSteps, WaitState
from tenure.domain.values import refusals_about
from tenure.errors import InputRefused, NotFound
from tenure.runtime.control_exceptions import ControlException, Discard, Waits
from tenure.runtime.large_values import encode_large, read_large, store_large
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.effects import Invoke, Nap, Request, Work
from tenure.runtime.steps.scope import Scope, current_scope
from tenure.store.outcomes import Until

LARGE = 65_536  # bytes of a value that is stored as an artifact

_UNTIL: Mapping[str, Until] = {"sleep": "time", "event": "event", "question": "answer"}


class Step(NamedTuple):
    """A call of a step."""

    name: str
    digest: str
    call: Callable[[], Any]
    shape: Signature
    retry: Retry
    timeout: float | None
    above: Scope | None


class Steps:
    def __init__(self, attempt: Attempt) -> None:
        self.root = Scope()
        self._attempt = attempt
        self._kept: dict[str, KeptStep] | None = None
        self._waits_for: str | None = None
        self._unfinished: set[str] = set()  # steps whose partial results are forgotten first

    def take_name(self, name: str) -> str:
        """Return the name of the next step of this name, in the step that runs now."""
        return (current_scope.get() or self.root).take_name(name)

    def load(self) -> Work[dict[str, KeptStep]]:
        """Return what earlier attempts have kept; it is read once."""
        if self._kept is None:
            answer = msgspec.convert((yield Request("steps")), KeptSteps)
            if self._kept is None:
                self._kept = {step.name: step for step in answer.steps}
                self._unfinished.update(answer.unfinished)
        return self._kept

    def run(self, step: Step) -> Work[Any]:
        """Return the kept value of a step, or run it and keep what it returns."""
        kept = (yield from self.load()).get(step.name)
        if kept is not None and kept.digest == step.digest:
            try:
                return step.shape.read_result((yield from self._value(kept)))
            except NotFound:
                pass  # the artifact with the value is on another host, or deleted: run it again
        began, spent = time.monotonic(), dict[str, float]()
        for tries in count(1):
            if step.name in self._unfinished:
                self._unfinished.discard(step.name)
                self._attempt.report(forget_partials=step.name)
            scope = Scope(step.name, step.above)
            scope.spent = spent
            try:
                value = yield Invoke(step.call, scope, step.timeout)
                break
            except ControlException:
                raise
            except Exception as error:
                if scope.has_emitted:
                    self._unfinished.add(step.name)
                delay = self._delay(step, error, tries)
                if delay is None:
                    self._keep(step, began, spent, tries, error=_describe(error))
                    raise
            yield Nap(delay)
        with refusals_about(f"the value of step {step.name!r}"):
            written = step.shape.write_result(value)
        stored = yield from self._store(step, written)
        self._keep(step, began, spent, tries, **stored)
        yield Request("flush")
        self._kept_now(KeptStep(step.name, step.digest, written))
        return step.shape.read_result(written)

    def wait(self, kind: str, name: str, digest: str, within: float | None, **of: Any) -> Work[Any]:
        """Return how a wait ended; while it is open, end the attempt."""
        if current_scope.get() is not None:
            raise InputRefused(
                f"{name!r} would wait inside a step, which would run again after it; "
                f"wait between steps"
            )
        kept = (yield from self.load()).get(name)
        if kept is None or kept.digest != digest:
            if self._waits_for is not None:
                raise InputRefused(
                    f"{name!r} would wait while {self._waits_for!r} does; a job waits for one "
                    f"thing at a time, so await them one after the other"
                )
            self._waits_for = name
            request = {"name": name, "digest": digest, "kind": kind, "within": within, **of}
            seen = msgspec.convert((yield Request("wait", request)), WaitState)
            if seen.state == "open":
                raise Waits(_UNTIL[kind], seen.due_at)
            self._waits_for = None
            kept = KeptStep(name, digest, seen.value, timed_out=seen.state == "timeout")
            self._kept_now(kept)
        return kept

    def _delay(self, step: Step, error: Exception, tries: int) -> float | None:
        """Return the seconds until the step is tried again; None if it is not."""
        from tenure.runtime.runner.failures import decision_by, kinds_of, retry_after_of

        described, retry = _describe(error), step.retry
        if tries > retry.max:
            return None
        decision = decision_by(retry, self._attempt, error)
        if isinstance(decision, Discard):
            raise decision from error
        if retry.gives_up(kinds_of(error)) or (decision is not None and not decision.retries):
            return None
        delay = retry.delay_after(tries, random.random())  # noqa: S311
        if decision is not None and decision.delay is not None:
            delay = timedelta(seconds=decision.delay)
        if retry.retry_after and (seconds := retry_after_of(error)) is not None:
            delay = max(delay, timedelta(seconds=seconds))
        line = f"step {step.name!r} failed and is tried again in {in_words(delay)}: "
        self._attempt.log("warning", f"{line}{described['type']}: {described['message']}")
        return delay.total_seconds()

    def _value(self, kept: KeptStep) -> Work[Any]:
        if kept.artifact is None:
            return kept.value
        # A job that was forked has artifacts of the first.
        job, _, name = kept.artifact.partition("/")
        return (yield from read_large(self._attempt, int(job), name))

    def _store(self, step: Step, value: Any) -> Work[Mapping[str, Any]]:
        """Return the fields of the row that hold the value; a large one is stored first."""
        attempt, what = self._attempt, f"the value of step {step.name!r}"
        name = f"steps/{step.digest}/{step.name.replace('#', '-')}.json"
        text = encode_large(attempt, value, what, LARGE)
        if (yield from store_large(attempt, text, what, LARGE, name)):
            return {"artifact": f"{attempt.work.id}/{name}"}
        return {"value": msgspec.Raw(text)}

    def _keep(
        self, step: Step, began: float, spent: Mapping[str, float], tries: int, **fields: Any
    ) -> None:
        row = {
            "name": step.name,
            "digest": step.digest,
            "spent": spent or None,
            "attempts": tries,
            "took": round(time.monotonic() - began, 6),
            **fields,
        }
        self._attempt.report(steps=(msgspec.json.encode(row),))

    def _kept_now(self, step: KeptStep) -> None:
        assert self._kept is not None
        self._kept[step.name] = step


def _describe(error: Exception) -> Mapping[str, Any]:
    from tenure.runtime.runner.endings import describe

    return describe(error)
