"""The part of a job's context that does things once: steps, sleeps, events and questions."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tenure.domain.bounds import validation_error
from tenure.domain.duration import Duration, duration
from tenure.domain.retry import Retry
from tenure.domain.values import name_text, shown
from tenure.errors import InputRefused, Timeout
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.scope import current_scope

if TYPE_CHECKING:
    from tenure.domain.step import KeptStep
    from tenure.runtime.steps.effects import Work
    from tenure.runtime.steps.steps import Step, Steps

R = TypeVar("R")

_MAX_NAME, _MAX_KEY = 200, 500  # characters
_ONCE = Retry(max=0)
_REQUIRED: Any = object()
_ANNOTATED: Any = object()  # the type of the value is the annotation of the function


class StepContext:
    """Everything here is awaited in a coroutine, and returns its value in a plain function.

    What has a result is not done again when the job is started again: by a retry, a resume, or
    another worker after a crash or a drain.
    """

    _attempt: Attempt
    _made_steps: "Steps | None" = None

    @overload
    def step(
        self,
        name: str,
        function: Callable[..., Awaitable[R]],
        /,
        *args: Any,
        retry: Retry | int = 0,
        timeout: Duration | None = None,
        returns: Any = _ANNOTATED,
        **kwargs: Any,
    ) -> Awaitable[R]: ...
    @overload
    def step(
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        retry: Retry | int = 0,
        timeout: Duration | None = None,
        returns: Any = _ANNOTATED,
        **kwargs: Any,
    ) -> Any: ...
    def step(
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        retry: Retry | int = 0,
        timeout: Duration | None = None,
        returns: Any = _ANNOTATED,
        **kwargs: Any,
    ) -> Any:
        """Call a function once: when the job is started again, its kept value is returned.

        It runs again if its arguments have changed. Its value is JSON, or of the type that it is
        annotated with or that ``returns`` names. ``retry`` and ``timeout`` are those of the step.
        """
        step = self._step_of(name, function, args, kwargs, retry, timeout, returns)
        return self._perform(self._steps.run(step))

    @overload
    def gather(
        self,
        name: str,
        functions: Sequence[Callable[[], Awaitable[R]]],
        /,
        *,
        limit: int | None = None,
        retry: Retry | int = 0,
        timeout: Duration | None = None,
        returns: Any = _ANNOTATED,
    ) -> Awaitable[list[R]]: ...
    @overload
    def gather(
        self,
        name: str,
        functions: Sequence[Callable[[], Any]],
        /,
        *,
        limit: int | None = None,
        retry: Retry | int = 0,
        timeout: Duration | None = None,
        returns: Any = _ANNOTATED,
    ) -> Any: ...
    def gather(
        self,
        name: str,
        functions: Sequence[Callable[[], Any]],
        /,
        *,
        limit: int | None = None,
        retry: Retry | int = 0,
        timeout: Duration | None = None,
        returns: Any = _ANNOTATED,
    ) -> Any:
        """Call functions without arguments in parallel, each as a step, at most ``limit`` at once.

        Return their values in order. The first failure ends the others; what had ended is kept.
        """
        from tenure.runtime.steps.parallel import agather, gather

        if limit is not None and (type(limit) is not int or limit < 1):
            raise InputRefused(f"limit: it takes a whole number of at least 1, not {shown(limit)}")
        if not isinstance(functions, Iterable):
            raise InputRefused(f"gather takes a list of functions, not {shown(functions)}")
        steps = [
            self._step_of(name, function, (), {}, retry, timeout, returns) for function in functions
        ]
        run = agather if self._attempt.link.is_in_loop() else gather
        return run(self._attempt, self._steps, steps, limit or max(len(steps), 1))

    def sleep(self, time: Duration) -> Any:
        """Sleep for some time. No worker is held; the job is started again when it is over."""
        seconds = duration(time).total_seconds()
        return self._perform(_nothing(self._wait("sleep", "sleep", (), seconds)))

    def wait_event(
        self,
        name: str,
        key: str | int = "",
        *,
        within: Duration | None = None,
        default: Any = _REQUIRED,
        returns: Any = Any,
    ) -> Any:
        """Wait for an event of this name and key, and return its payload. No worker is held.

        An event that was published before counts as long as it is kept. When ``within`` is over,
        return the default; raise ``tenure.errors.Timeout`` if there is none.
        """
        from tenure.runtime.steps.values import shape_of_type

        name, key = name_text(name, "the name of an event", _MAX_NAME), str(key)
        if key:
            key = name_text(key, "the key of an event", _MAX_KEY)
        what = f"event {name!r}{f' with key {key!r}' if key else ''}"
        return self._perform(
            self._answer(
                self._wait("event", f"event {name}", (name, key), within, event=name, key=key),
                shape_of_type(returns).read_result,
                default,
                f"{what} was not published in time",
            )
        )

    def ask(
        self,
        schema: Any,
        question: str,
        *,
        within: Duration | None = None,
        default: Any = _REQUIRED,
        role: str | None = None,
        name: str = "ask",
    ) -> Any:
        """Ask a person a question and return the answer, of the type ``schema``. No worker is held.

        The owner of the job or an admin answers; with ``role``, everybody of at least that role.
        When ``within`` is over, return the default; raise ``tenure.errors.Timeout`` if there is
        none.
        """
        from tenure.runtime.steps.questions import question_of
        from tenure.runtime.steps.values import shape_of_type

        asked = question_of(schema, question, role)
        return self._perform(
            self._answer(
                self._wait("question", name, asked, within, question=asked),
                shape_of_type(schema).read_result,
                default,
                f"nobody answered in time: {question}",
            )
        )

    @property
    def _steps(self) -> "Steps":
        if self._made_steps is None:
            from tenure.runtime.steps.steps import Steps

            self._made_steps = Steps(self._attempt)
        return self._made_steps

    def _step_of(
        self,
        name: str,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        retry: Retry | int,
        timeout: Duration | None,
        returns: Any,
    ) -> "Step":
        from tenure.runtime.steps.steps import Step
        from tenure.runtime.steps.values import arguments_of, digest_of, shape_of, shape_of_type

        name = _name(name)
        if not callable(function):
            raise InputRefused(f"step {name!r} takes a function, not {shown(function)}")
        return Step(
            self._steps.take_name(name),
            digest_of("step", *arguments_of(function, args, kwargs)),
            partial(function, *args, **kwargs) if args or kwargs else function,
            shape_of(function) if returns is _ANNOTATED else shape_of_type(returns),
            _ONCE if retry == 0 else retry if isinstance(retry, Retry) else Retry(max=retry),
            None if timeout is None else duration(timeout).total_seconds(),
            current_scope.get(),
        )

    def _wait(
        self, kind: str, name: str, about: Any, within: Duration | None, **of: Any
    ) -> "Work[KeptStep]":
        from tenure.runtime.steps.values import digest_of

        seconds = None if within is None else duration(within).total_seconds()
        if seconds is not None and (wrong := validation_error("delay", timedelta(seconds=seconds))):
            raise InputRefused(f"{name!r} cannot wait that long: {wrong}")
        taken = self._steps.take_name(_name(name))
        digest = digest_of(kind, within if kind == "sleep" else about)
        return self._steps.wait(kind, taken, digest, seconds, **of)

    def _answer(
        self, wait: "Work[KeptStep]", read: Callable[[Any], Any], default: Any, timeout: str
    ) -> "Work[Any]":
        kept = yield from wait
        if not kept.timed_out:
            return read(kept.value)
        if default is _REQUIRED:
            raise Timeout(timeout)
        return default

    def _perform(self, work: "Work[Any]") -> Any:
        from tenure.runtime.steps.effects import aperform, perform

        run = aperform if self._attempt.link.is_in_loop() else perform
        return run(self._attempt, work)


def _nothing(wait: "Work[KeptStep]") -> "Work[None]":
    yield from wait


def _name(name: str) -> str:
    name = name_text(name, "the name of a step", _MAX_NAME)
    if "#" in name or "/" in name:
        raise InputRefused(f"the name of a step has no # and no /, and {shown(name)} has one")
    return name
