"""Declaring tasks: names, signatures, executors, hooks, and an error message for each mistake."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import pytest
from pydantic import Field, SecretStr

from tenure.app import Tenure
from tenure.config import Settings
from tenure.control.task import Task
from tenure.errors import InputRefused, SettingInvalid
from tenure.runtime.context import Context


@pytest.fixture
def app() -> Tenure:
    """An app without a database: declarations do not need one."""
    return Tenure("postgresql:///nowhere?host=/nowhere", settings=Settings())


def refusal(declare: Callable[[], Any]) -> str:
    with pytest.raises(SettingInvalid) as refused:
        declare()
    return str(refused.value)


# Every kind of function.


async def with_context(ctx: Context, site: str, *, pages: int = 10) -> list[str]:
    """Walk a site."""
    return [site] * pages


def plain(number: int) -> int:
    return number + 1


def test_a_task_knows_its_function(app: Tenure) -> None:
    crawl = app.task(with_context)
    assert crawl.name == "tests.control.test_tasks.with_context"
    assert crawl.function is with_context
    assert crawl.executor == "async"
    assert crawl.takes_context
    assert crawl.compensate is None
    assert (crawl.__name__, crawl.__doc__) == ("with_context", "Walk a site.")
    assert app.tasks == {crawl.name: crawl}
    with pytest.raises(TypeError):
        app.tasks["other"] = crawl  # type: ignore[index]


def test_a_task_called_is_the_plain_function(app: Tenure) -> None:
    assert app.task(plain)(1) == 2
    assert asyncio.run(app.task(with_context)(None, "a", pages=2)) == ["a", "a"]


def test_a_plain_function_runs_in_a_process_unless_it_asks_for_a_thread(app: Tenure) -> None:
    assert app.task(plain).executor == "process"
    assert app.task(name="threaded", executor="thread")(plain).executor == "thread"


def test_annotations_may_be_texts(app: Tenure) -> None:
    def late(ctx: "Context", site: "str") -> "int": ...  # type: ignore[empty-body]

    task = app.task(late)
    assert task.takes_context
    assert task.signature.types == {"site": str}


def test_a_function_without_annotations_takes_any_json(app: Tenure) -> None:
    def loose(a, b=None):  # type: ignore[no-untyped-def]
        return a

    task: Task[Any, Any] = app.task(loose)
    assert task.new_job([1, "x"]).args == {"a": [1, "x"]}
    assert task.write_result({"x": (1, 2)}) == {"x": [1, 2]}


def test_two_tasks_of_one_name_are_refused(app: Tenure) -> None:
    app.task(plain)
    sentence = "there are two tasks named 'tests.control.test_tasks.plain'; give one of them"
    assert refusal(lambda: app.task(plain)).startswith(sentence)


def test_a_lambda_needs_a_name(app: Tenure) -> None:
    assert "a lambda has no name" in refusal(lambda: app.task(lambda x: x))
    assert app.task(name="double")(lambda x: 2 * x).name == "double"


SCRIPT = """
from tenure.app import Tenure
app = Tenure("postgresql:///nowhere")
@app.task
def work() -> None: ...
if __name__ == "__main__":
    print(work.name)
"""


def test_a_program_names_its_tasks_as_its_workers_do(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "crawling.py").write_text(SCRIPT)

    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, check=True
        )
        return done.stdout

    assert said("jobs/crawling.py") == "crawling.work\n"
    assert said("-m", "jobs.crawling") == "jobs.crawling.work\n"


class Thing:
    def method(self, x: int) -> None: ...

    def __call__(self) -> None: ...


async def agen() -> AsyncIterator[int]:
    yield 1


def gen() -> Iterator[int]:
    yield 1


def stars(*sites: str) -> None: ...
def double_stars(**sites: str) -> None: ...
def positional(site: str, /) -> None: ...
def context_later(site: str, ctx: Context) -> None: ...
def context_by_name(*, ctx: Context) -> None: ...
def bare_context(ctx, site: str) -> None: ...  # type: ignore[no-untyped-def]
def takes_a_thing(thing: Thing) -> None: ...
def gives_a_thing() -> Thing: ...  # type: ignore[empty-body]
def field_as_default(x: int = Field(gt=0)) -> None: ...
def unresolved(x: "Nobody") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def secret(password: SecretStr, site: str) -> None: ...


FUNCTIONS: list[tuple[Any, str]] = [
    (Thing(), "is not a function written with def or async def"),
    (print, "is not a function written with def or async def"),
    (Thing.method, "it is a method; a task function stands on its own"),
    (agen, "it yields; a task function returns its result"),
    (gen, "it yields; a task function returns its result"),
    (stars, "it takes *sites; arguments are stored by name, so name each of them"),
    (double_stars, "it takes **sites; arguments are stored by name"),
    (positional, "site is positional-only; arguments are passed by name"),
    (context_later, "ctx is a Context, which can only be the first parameter"),
    (context_by_name, "ctx is a Context, which can only be the first parameter"),
    (bare_context, "ctx has no annotation; write ctx: Context"),
    (takes_a_thing, "thing cannot be written as JSON: Unable to generate"),
    (gives_a_thing, "the result cannot be written as JSON: Unable to generate"),
    (field_as_default, "x has a Field as its default; write x: Annotated[..., Field(...)]"),
    (unresolved, "its annotations cannot be resolved (name 'Nobody' is not defined)"),
]


@pytest.mark.parametrize(("function", "sentence"), FUNCTIONS)
def test_a_function_that_cannot_be_a_task_is_refused_at_import(
    app: Tenure, function: Any, sentence: str
) -> None:
    said = refusal(lambda: app.task(function))
    assert said.startswith("task ")
    assert sentence in said
    assert "\n" not in said
    assert not app.tasks


OPTIONS: list[tuple[Any, dict[str, Any], str]] = [
    (plain, {"executor": "async"}, "it is a def, which runs in a 'process' or a 'thread'"),
    (with_context, {"executor": "process"}, "it is an async def, which runs in an event loop"),
    (with_context, {"executor": "thread"}, "'thread' is for a def"),
    (plain, {"executor": "command"}, "executor: it takes 'async', 'process' or 'thread'"),
    (plain, {"name": ""}, "name: it takes a text of 1 to 500 characters"),
    (plain, {"name": "x" * 501}, "name: it takes a text of 1 to 500 characters"),
    (plain, {"timeout": "soon"}, "timeout: 'soon' is not a duration"),
    (plain, {"ask_for": "31s"}, "31s of asking do not fit into a grace of 30s"),
    (plain, {"targte": "x"}, "targte: there is no such option; the nearest is target"),
    (plain, {"compensate": plain}, "compensate: it takes a task, not <function plain"),
    (plain, {"target": "n:{site}"}, "'n:{site}' names 'site', and the task function takes number"),
    (plain, {"unique": "n:{site}"}, "unique: 'n:{site}' names 'site'"),
    (plain, {"target": "{number.real}"}, "'{number.real}' in '{number.real}' is not the plain"),
    (plain, {"target": "{number[0]}"}, "is not the plain name of a parameter"),
    (plain, {"target": "{number!r}"}, "is not the plain name of a parameter"),
    (plain, {"target": "{number:>9}"}, "is not the plain name of a parameter"),
    (plain, {"target": "{}"}, "is not the plain name of a parameter"),
    (plain, {"target": "{0}"}, "is not the plain name of a parameter"),
    (plain, {"target": "a{number"}, "is not a template"),
    (plain, {"target": ""}, "target: it takes a text such as 'site:{site}', not ''"),
    (plain, {"target": 5}, "target: it takes a text such as 'site:{site}', not 5"),
    (with_context, {"target": "{ctx}"}, "'{ctx}' names 'ctx', and the task function takes site"),
    (secret, {"target": "{password}"}, "would show 'password', which is a secret"),
]


@pytest.mark.parametrize(("function", "options", "sentence"), OPTIONS)
def test_an_option_that_cannot_be_is_refused_at_import(
    app: Tenure, function: Any, options: Any, sentence: str
) -> None:
    said = refusal(lambda: app.task(**options)(function))
    assert said.startswith("task ")
    assert sentence in said
    assert not app.tasks


def test_a_compensation_is_a_task_of_the_same_app(app: Tenure) -> None:
    undo = app.task(name="undo")(plain)
    assert app.task(name="do", compensate=undo)(plain).compensate is undo
    other = Tenure("postgresql:///elsewhere", settings=Settings()).task(plain)
    said = refusal(lambda: app.task(name="again", compensate=other)(plain))
    assert said.endswith("is a task of another app")


def test_a_hook_is_registered_once_and_takes_what_it_is_given(app: Tenure) -> None:
    task = app.task(plain)

    @task.on_cancel
    def stopped(ctx: Context) -> None: ...

    @task.on_failure
    async def failed(ctx: Context, error: BaseException) -> None: ...

    assert (task.cancel_hook, task.failure_hook) == (stopped, failed)
    assert task.using(priority=1).cancel_hook is stopped
    assert refusal(lambda: task.on_cancel(stopped)).endswith("on_cancel: there is a hook already")
    other = app.task(name="other")(plain)
    assert refusal(lambda: other.on_failure(stopped)).endswith(
        "on_failure: the hook is called with the context and the error, and takes something else"
    )


# Commands.


def test_the_parameters_of_a_command_are_the_names_in_its_words(app: Tenure) -> None:
    task = app.command(
        "resize", ["convert", "{source}", "--size={size}", "", "{{x}}"], timeout="1m"
    )
    assert (task.name, task.executor, task.takes_context) == ("resize", "command", True)
    job = task.new_job(source="a b.png; rm -rf /", size=5)
    assert job.args == {"source": "a b.png; rm -rf /", "size": 5}
    assert job.options == {"timeout": "1m"}
    assert task.read_result({"exit_code": 3}) == {"exit_code": 3}
    assert app.tasks["resize"] is task


COMMANDS: list[tuple[Any, str]] = [
    ("ls -l", "argv: it takes a list of texts, the program first, not 'ls -l'"),
    ([], "argv: it takes a list of texts, the program first, not []"),
    ([5], "argv: 5 cannot be the argument of a program"),
    (["ls", "a\0b"], "cannot be the argument of a program"),
    (["{program}"], "which cannot be empty or a parameter"),
    ([""], "which cannot be empty or a parameter"),
    (["ls", "{path.parent}"], "argv: '{path.parent}' in '{path.parent}' is not the plain name"),
]


@pytest.mark.parametrize(("argv", "sentence"), COMMANDS)
def test_a_command_that_cannot_be_is_refused(app: Tenure, argv: Any, sentence: str) -> None:
    said = refusal(lambda: app.command("list", argv))
    assert said.startswith("task 'list': ")
    assert sentence in said


# How tasks are announced.


def test_the_announcement_is_json_and_its_digest_changes_with_the_task(app: Tenure) -> None:
    def never() -> NoReturn:
        raise AssertionError

    app.task(never)
    app.task(queue="crawl", target="site:{site}", retry=1)(with_context)
    announced = json.loads(json.dumps(app.announcement()))
    assert announced == app.announcement()
    [_, told] = announced["tasks"]
    digest = told.pop("digest")
    refusal = (
        "task 'tests.control.test_tasks.with_context': target: 'site:{site}' takes a text or a "
        "number for 'site'"
    )
    assert told == {
        "name": "tests.control.test_tasks.with_context",
        "executor": "async",
        "doc": "Walk a site.",
        "schema": {
            "type": "object",
            "properties": {
                "site": {"type": "string"},
                "pages": {"type": "integer", "default": 10},
            },
            "required": ["site"],
            "additionalProperties": False,
        },
        "defaults": {
            "queue": "crawl",
            "priority": 0,
            "block_on": ["paused", "failed"],
            "max_attempts": 2,
            "orphan": "retry",
            "options": {"retry": told["defaults"]["options"]["retry"]},
            "budget": None,
            "pools": [],
            "tags": None,
        },
        "target": {
            "text": "site:{site}",
            "parts": [{"text": "site:", "field": "site", "refusal": refusal}],
        },
        "unique": None,
        "limits": [],
        "compensate": None,
    }
    again = Tenure("postgresql:///nowhere", settings=Settings())
    same = again.task(queue="crawl", target="site:{site}", retry=1)(with_context)
    assert same.announcement()["digest"] == digest
    assert same.using(priority=3).announcement()["digest"] != digest


def test_a_limit_is_a_template_too(app: Tenure) -> None:
    task = app.task(limits=["all", "site:{site}"])(with_context)
    assert task.new_job("a").limits == ("all", "site:a")
    with pytest.raises(InputRefused, match=r"limits of a job of task .* 500 characters"):
        task.new_job("a" * 500)


def test_a_constraint_in_an_annotation_counts(app: Tenure) -> None:
    def few(count: Annotated[int, Field(gt=0)]) -> None: ...

    with pytest.raises(InputRefused, match="count: input should be greater than 0"):
        app.task(few).new_job(0)
