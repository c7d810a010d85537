"""Arguments and results: checked at enqueue, stored as JSON by name, and read back as they were."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field, Secret, SecretBytes, SecretStr, field_validator

from tenure.app import Tenure
from tenure.config import Settings
from tenure.control.task import Task
from tenure.errors import InputRefused


@pytest.fixture
def app() -> Tenure:
    return Tenure("postgresql:///nowhere?host=/nowhere", settings=Settings(max_args_bytes=1000))


class Colour(Enum):
    RED = 1


class Kind(StrEnum):
    SMALL = "small"


@dataclass
class Point:
    x: int
    y: int = 0


class Login(BaseModel):
    model_config = ConfigDict(strict=True)
    id: UUID = Field(default_factory=uuid4)
    name: str = Field(alias="userName")
    since: datetime
    parts: tuple[int, str] = (1, "x")
    password: SecretStr = SecretStr("")


class SecretsInside(BaseModel):
    key: SecretBytes


def taking(app: Tenure, kind: Any, returns: Any = None) -> Task[..., Any]:
    def take(value): ...  # type: ignore[no-untyped-def]

    take.__annotations__ = {"value": kind, "return": returns}
    return app.task(name=f"take {len(app.tasks)}")(take)


VALUES: list[tuple[Any, Any]] = [
    (str, "ä\u2028"),
    (int, 1 << 70),
    (float, 0.1),
    (bool, True),
    (None, None),
    (str | None, None),
    (list[int], [1, 2]),
    (tuple[int, str], (1, "a")),
    (set[str], {"a", "b"}),
    (dict[int, str], {1: "a"}),
    (dict[str, Any], {"a": [1, None, {"b": True}]}),
    (datetime, datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    (date, date(2030, 1, 2)),
    (time, time(1, 2)),
    (timedelta, timedelta(hours=30, microseconds=1)),
    (Decimal, Decimal("0.10")),
    (UUID, UUID(int=5)),
    (Path, Path("/tmp/x")),
    (bytes, b"\xff\x00"),
    (Colour, Colour.RED),
    (Kind, Kind.SMALL),
    (Literal["a", "b"], "b"),
    (Point, Point(1, 2)),
    (list[Point], [Point(1), Point(3)]),
    (Login, Login(userName="ann", since=datetime(2030, 1, 1, tzinfo=UTC))),
    (SecretStr, SecretStr("hush")),
    (SecretStr, SecretStr("**********")),
    (SecretStr | None, SecretStr("")),
    (SecretBytes, SecretBytes(b"\xff")),
    (Secret[date], Secret(date(2030, 1, 2))),
    (
        dict[str, list[Login]],
        {
            "all": [
                Login(
                    userName="ann",
                    since=datetime(2030, 1, 1, tzinfo=UTC),
                    password=SecretStr("hush"),
                ),
                Login(userName="bob", since=datetime(2030, 1, 1, tzinfo=UTC)),
            ]
        },
    ),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_what_is_given_is_what_the_function_gets(app: Tenure, kind: Any, value: Any) -> None:
    task = taking(app, kind, returns=kind)
    stored = msgspec.json.encode(task.new_job(value).args)
    assert task.read_arguments(stored) == {"value": value}
    assert task.read_arguments(msgspec.json.decode(stored)) == {"value": value}
    assert type(task.read_arguments(stored)["value"]) is type(value)
    result = msgspec.json.decode(msgspec.json.encode(task.write_result(value)))
    assert task.read_result(result) == value


def test_a_secret_is_stored_as_it_is(app: Tenure) -> None:
    assert taking(app, SecretStr).new_job("hush").args == {"value": "hush"}


def test_only_what_is_given_is_stored(app: Tenure) -> None:
    def take(a: int, b: int = 2, *, schema: int = 3, _x: object = object()) -> None: ...

    task = app.task(take)
    assert task.new_job(1).args == {"a": 1}
    assert task.new_job(1, 5, schema=7).args == {"a": 1, "b": 5, "schema": 7}
    assert task.read_arguments({"a": 1}) == {"a": 1}


class Picky(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def even(cls, n: int) -> int:
        if n % 2:
            raise ValueError("it must be even")
        return n


def crawl(site: str, pages: int = 10, *, depth: int = 1) -> None: ...
def log_in(name: str, password: SecretStr, pin: Secret[int]) -> None: ...
def send(to: list[Picky]) -> None: ...
def anything(value: Any) -> None: ...
def secrets_inside(value: SecretsInside) -> None: ...


MISTAKES: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (crawl, (), {}, "site is missing"),
    (crawl, (5,), {}, "site: input should be a valid string"),
    (crawl, ("a", "ten"), {}, "pages: input should be a valid integer, unable to parse"),
    (crawl, ("a", 1, 2), {}, "it takes 2 arguments by position, not 3"),
    (crawl, ("a",), {"site": "b"}, "site is given twice"),
    (crawl, ("a",), {"deep": 1}, "there is no parameter 'deep'; it takes site, pages, depth"),
    (send, ([{"n": 2}, {"n": 3}],), {}, "to[1].n: value error, it must be even"),
    (send, ([{"n": 2, "m": 1}, {}],), {}, "to[1].n is missing"),
    (anything, (object(),), {}, "it cannot be written as JSON: unable to serialize unknown type"),
    (anything, ("\ud800",), {}, "it cannot be written as JSON"),
    (anything, ("x" * 1000,), {}, "are 1012 bytes, and the limit is 1000; store large things"),
    (secrets_inside, (SecretsInside(key=SecretBytes(b"abc")),), {}, "would not come back"),
]


@pytest.mark.parametrize(("function", "args", "kwargs", "sentence"), MISTAKES)
def test_a_mistake_is_named_with_task_and_parameter(
    app: Tenure, function: Callable[..., Any], args: Any, kwargs: Any, sentence: str
) -> None:
    task = app.task(function)
    with pytest.raises(InputRefused) as refused:
        task.enqueue(*args, **kwargs)
    said = str(refused.value)
    assert f"task 'tests.control.test_tasks_arguments.{function.__name__}'" in said
    assert sentence.lower() in said.lower()
    assert "\n" not in said
    assert "pydantic" not in said
    assert refused.value.__cause__ is None


def test_all_mistakes_are_named_at_once(app: Tenure) -> None:
    with pytest.raises(InputRefused) as refused:
        app.task(crawl).enqueue(5, deep=1, depth="x")  # type: ignore[call-arg, arg-type]
    for name in ("site: input should", "no parameter 'deep'", "depth: input should"):
        assert name in str(refused.value)


def test_no_value_is_shown_in_a_mistake(app: Tenure) -> None:
    task = app.task(log_in)
    with pytest.raises(InputRefused) as refused:
        task.enqueue(["Frank"], ["hush"], "abc")  # type: ignore[arg-type]
    said = str(refused.value)
    assert "name: " in said
    assert "password: " in said
    assert "pin: " in said
    assert not any(word in said for word in ("Frank", "hush", "abc"))


def test_a_number_that_json_does_not_have_is_refused(app: Tenure) -> None:
    for kind in (float, Any):
        with pytest.raises(InputRefused, match="nan is not a JSON number"):
            taking(app, kind).enqueue(float("nan"))


def test_arguments_of_older_code_are_refused_in_the_worker_with_a_sentence(app: Tenure) -> None:
    task = app.task(crawl)
    with pytest.raises(InputRefused) as refused:
        task.read_arguments({"sites": "a", "pages": "x"})
    assert str(refused.value).startswith(
        "the arguments of this job do not fit task 'tests.control.test_tasks_arguments.crawl' as "
        "it is now: site is missing; pages: input should be"
    )
    assert str(refused.value).endswith("there is no sites")


def test_a_result_that_is_not_what_was_announced_is_refused(app: Tenure) -> None:
    task = taking(app, int, returns=list[int])
    assert task.write_result((1, 2)) == [1, 2]
    with pytest.raises(InputRefused, match=r"task 'take 0' returned cannot be kept: the result"):
        task.write_result(["a"])
    with pytest.raises(InputRefused, match="is not what task 'take 0' returns as it is now"):
        task.read_result({"a": 1})
    with pytest.raises(InputRefused, match="cannot be written as JSON"):
        taking(app, int, returns=Any).write_result(object())


# Templates.


def test_a_template_is_filled_with_the_arguments_as_they_are_stored(app: Tenure) -> None:
    @app.task(target="{{{kind}}}:{day}/{n}", unique="only:{yes}")
    def work(kind: Kind, day: date, n: int = 7, *, yes: bool = True) -> None: ...

    job = work.new_job(Kind.SMALL, date(2030, 1, 2))
    assert (job.target, job.unique) == ("{small}:2030-01-02/7", "only:true")
    assert work.new_job(Kind.SMALL, date(2030, 1, 2), "3").target == "{small}:2030-01-02/3"  # type: ignore[arg-type]


def test_an_argument_is_never_a_template_itself(app: Tenure) -> None:
    @app.task(target="site:{site}")
    def work(site: str) -> None: ...

    assert work.new_job("{site.__class__}").target == "site:{site.__class__}"
    assert work.using(target="{literal}").new_job("a").target == "{literal}"


def test_what_cannot_stand_in_a_text_is_refused(app: Tenure) -> None:
    @app.task(target="site:{site}")
    def work(site: str | list[str] | None = None) -> None: ...

    for args, kind in (((), "nothing"), ((None,), "nothing"), ((["a"],), "a list")):
        with pytest.raises(
            InputRefused, match=f"takes a text or a number for 'site', and that is {kind}"
        ):
            work.new_job(*args)
