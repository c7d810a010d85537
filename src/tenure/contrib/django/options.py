"""Options of Tenure for the tasks of Django's framework, which has no place for them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, Unpack, cast

from tenure.app import TaskOptions
from tenure.control.declaration import (
    read_executor,
    read_template,
    read_templates,
    refusals_of,
)
from tenure.control.enqueue_options import EnqueueOptionSet
from tenure.control.signature import Signature
from tenure.control.template import Template
from tenure.domain.options import Executor, refuse_unknown
from tenure.domain.values import shown
from tenure.errors import SettingInvalid

F = TypeVar("F", bound=Callable[..., Any])

_PLACE = "_tenure_options"
_OF_TASK = {"queue": "queue_name", "priority": "priority"}  # options of @task itself
_NOT_HERE = ("compensate", "name")


@dataclass(frozen=True)
class FunctionOptions:
    """The options of a function; templates are filled by each call."""

    parameters: inspect.Signature | None = None
    executor: Executor | None = None
    plain: Mapping[str, Any] = field(default_factory=dict)
    target: Template | None = None
    unique: Template | None = None
    limits: Sequence[Template] = ()

    def filled(
        self, takes_context: bool, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return target, unique key and limits of a call with these arguments."""
        if self.parameters is None or not (self.target or self.unique or self.limits):
            return {}
        context = (None,) if takes_context else ()
        bound = self.parameters.bind(*context, *args, **kwargs)
        bound.apply_defaults()
        values: dict[str, Any] = {}
        if self.target is not None:
            values["target"] = self.target.fill(bound.arguments)
        if self.unique is not None:
            values["unique"] = self.unique.fill(bound.arguments)
        if self.limits:
            values["limits"] = [limit.fill(bound.arguments) for limit in self.limits]
        return values


def task_options(**options: Unpack[TaskOptions]) -> Callable[[F], F]:
    """Give a task of Django options of Tenure: ``@task_options(retry=0)``, below ``@task``.

    It takes the options of ``@app.task`` except ``name`` and ``compensate``; queue and priority
    are those of ``@task``. ``target``, ``unique`` and ``limits`` may name the function's
    parameters: ``target="order:{order}"``.
    """

    def declare(function: F) -> F:
        if not inspect.isfunction(function):
            raise SettingInvalid(
                f"@task_options takes the function of a task, not {shown(function)}: write it "
                "below @task"
            )
        with refusals_of(function.__qualname__):
            setattr(function, _PLACE, _read(function, cast("dict[str, Any]", dict(options))))
        return cast("F", function)

    return declare


def options_of(task: Any) -> FunctionOptions:
    """Return the options of a task of Django; none if its function declares none."""
    declared: FunctionOptions = getattr(task.func, _PLACE, FunctionOptions())
    return declared


def _read(function: Callable[..., Any], options: dict[str, Any]) -> FunctionOptions:
    refuse_unknown(options, TaskOptions.__annotations__)
    for name in options:
        if name in _OF_TASK:
            raise SettingInvalid(f"{name}: write @task({_OF_TASK[name]}=...) instead")
        if name in _NOT_HERE:
            raise SettingInvalid(f"{name}: it is an option of @app.task alone")
    parameters = inspect.signature(function)
    signature = Signature(dict.fromkeys(parameters.parameters, Any))
    read = FunctionOptions(
        parameters,
        None if "executor" not in options else read_executor(options.pop("executor"), function),
        target=read_template("target", options.pop("target", None), signature),
        unique=read_template("unique", options.pop("unique", None), signature),
        limits=read_templates("limits", options.pop("limits", ()), signature),
        plain=options,
    )
    EnqueueOptionSet().changed(options)  # refuses values that are not valid
    return read
