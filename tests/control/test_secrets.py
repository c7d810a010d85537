"""Secrets among the arguments: the code gets them, and nobody else sees them."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, NewType, TypedDict

import psycopg
import pytest
from pydantic import AfterValidator, BaseModel, Field, RootModel, Secret, SecretBytes, SecretStr

from tenure.app import Tenure
from tenure.config import Settings
from tenure.control.secrets import hides
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import InputRefused, SettingInvalid
from tenure.store.store import Store
from tests.apps import secrets
from tests.apps.secrets import Login, digest
from tests.factories import make_worker
from tests.system.stage import Stage, staged
from tests.workers import eventually

HUSH, PIN = "hush-hush-hush", 20300102
DEFAULT = SecretStr("a default")


class Tree(BaseModel):
    """Names itself, and has no secret."""

    below: "list[Tree]" = []


class Safe(RootModel[dict[str, SecretStr]]): ...


@dataclass
class Pair:
    name: str
    key: SecretBytes


class Typed(TypedDict):
    key: Annotated[SecretStr, Field(min_length=1)]


class Named(NamedTuple):
    key: SecretStr


Key = NewType("Key", SecretStr)

HIDDEN: list[Any] = [
    SecretStr,
    SecretStr | None,
    Annotated[SecretStr | None, Field(max_length=5)],
    Secret[int],
    list[SecretStr],
    dict[str, tuple[SecretBytes, ...]],
    Login,
    list[Login] | None,
    Safe,
    Pair,
    Typed,
    Named,
    Key,
]
OPEN: list[Any] = [
    str,
    bytes,
    Any,
    Tree,
    dict[str, int] | None,
    Annotated[str, Field(min_length=1)],
]


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    with Tenure(database, settings=Settings()) as app:
        yield app


@pytest.mark.parametrize("kind", HIDDEN, ids=str)
def test_a_type_with_a_secret_in_it_is_one(kind: Any) -> None:
    assert hides(kind)


@pytest.mark.parametrize("kind", OPEN, ids=str)
def test_a_type_without_is_none(kind: Any) -> None:
    assert not hides(kind)


# On the way in.


def test_a_secret_travels_as_it_is_and_is_marked(app: Tenure) -> None:
    @app.task
    def log_in(name: str, password: SecretStr, pin: Secret[int] | None = None) -> None: ...

    job = log_in.new_job("ada", SecretStr(HUSH))
    assert job.args == {"name": "ada", "password": HUSH}
    assert job.options == {"secret": ["password", "pin"]}, "of all that might be given"
    assert log_in.read_arguments(job.args)["password"] == SecretStr(HUSH)
    later = log_in.using(deadline="1h").new_job("ada", SecretStr(HUSH))
    assert set(later.options or ()) == {"secret", "deadline"}


def test_no_secret_no_mark(app: Tenure) -> None:
    @app.task
    def work(name: str) -> None: ...

    assert work.new_job("ada").options is None


def test_a_secret_is_masked_wherever_a_job_is_shown(app: Tenure, store: Store) -> None:
    @app.task
    def log_in(name: str, password: SecretStr, pins: list[Secret[int]]) -> None: ...

    handle = log_in.enqueue("ada", SecretStr(HUSH), [Secret(PIN)])
    masked = {"name": "ada", "password": "***", "pins": "***"}
    assert handle.job().args == masked
    assert store.list_jobs({"queue": "default", "text": HUSH}) == (), "nor can it be searched for"
    assert len(store.list_jobs({"queue": "default", "text": "ada"})) == 1
    assert make_worker(store).claim_one().args == {"name": "ada", "password": HUSH, "pins": [PIN]}


def test_many_at_once_are_all_masked(app: Tenure, store: Store) -> None:
    @app.task
    def log_in(name: str, password: SecretStr | None = None) -> None: ...

    handles = log_in.enqueue_many([("a",), {"name": "b", "password": HUSH}])
    assert [handle.job().args.get("password") for handle in handles] == [None, "***"]


@pytest.mark.parametrize("option", ["target", "unique"])
def test_a_secret_makes_no_key(app: Tenure, option: str) -> None:
    def log_in(password: SecretStr | None) -> None: ...

    with pytest.raises(SettingInvalid, match=r"would show 'password', which is a secret"):
        app.task(**{option: "of:{password}"})(log_in)  # type: ignore[call-overload]


def _complains(value: SecretStr) -> SecretStr:
    raise ValueError(f"{value.get_secret_value()} is too short")


@pytest.mark.parametrize(
    "wrong", [[HUSH], {"value": HUSH}, HUSH], ids=["a list", "an object", "one that says it"]
)
def test_a_refusal_says_nothing_of_a_secret(
    app: Tenure, caplog: pytest.LogCaptureFixture, wrong: Any
) -> None:
    @app.task
    def log_in(name: str, password: Annotated[SecretStr, AfterValidator(_complains)]) -> None: ...

    with caplog.at_level(logging.DEBUG), pytest.raises(InputRefused) as refused:
        log_in.enqueue("ada", wrong)
    said = str(refused.value)
    assert "password: it cannot be taken; details of a secret are not shown" in said
    assert HUSH not in said + repr(refused.value) + caplog.text
    with pytest.raises(InputRefused, match="password is missing"):
        log_in.enqueue("ada")  # type: ignore[call-arg]


def test_tasks_handles_and_schedules_tell_no_secret(app: Tenure) -> None:
    @app.task
    def log_in(password: SecretStr = DEFAULT) -> None: ...

    schedule = app.schedule("0 3 * * *", task=log_in, args={"password": HUSH})
    new = log_in.new_job(SecretStr(HUSH))
    handle = log_in.enqueue(SecretStr(HUSH))
    shown = f"{log_in!r} {log_in.announcement()} {new!r} {handle!r} {handle.job()!r} {schedule!r}"
    assert HUSH not in shown
    assert "a default" not in shown


# In a worker.


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(secrets.app, shared_database, folder, "secrets") as stage:
        yield stage


def places(url: str, text: str) -> set[str]:
    """The tables in which this is found."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'tenure'::regnamespace"
            " AND relkind = 'r'"
        ).fetchall()
        look = 'SELECT 1 FROM tenure."{}" AS t WHERE strpos(t::text, %s) > 0 LIMIT 1'
        return {
            name
            for (name,) in tables
            if connection.execute(look.format(name).encode(), (text,)).fetchone()
        }


def test_the_code_is_given_the_secret_and_nobody_else_is_told(
    stage: Stage, shared_database: str
) -> None:
    login = Login(name="ada", password=SecretStr(HUSH))
    whole = secrets.log_in.enqueue("ada", SecretStr(HUSH), SecretStr(HUSH), [Secret(PIN)], login)
    assert whole.result("20s") == digest(HUSH, HUSH, [PIN], HUSH)
    plain = secrets.log_in_here.enqueue(SecretStr(HUSH))
    assert plain.result("20s") == digest(HUSH)
    wrong = secrets.fails.enqueue(SecretStr(HUSH))
    assert wrong.wait("20s").state is State.FAILED
    parent = secrets.passes_on.enqueue(SecretStr(HUSH))
    assert parent.result("20s") == digest(HUSH)
    again = stage.store.rerun(plain.id)
    eventually(lambda: stage.store.show(again.id).result == digest(HUSH), "again")
    for job in stage.store.list_jobs():
        shown = repr(stage.store.show(job.id))
        assert HUSH not in shown
        assert str(PIN) not in shown
    assert places(shared_database, HUSH) == {"payload"}
    assert places(shared_database, str(PIN)) == {"payload"}
    assert HUSH not in stage.worker.log


def test_arguments_that_no_longer_fit_are_refused_without_showing_them(stage: Stage) -> None:
    bad = NewJob(
        task=secrets.log_in_here.name,
        args={"password": [HUSH]},
        options={"secret": ["password"]},
        max_attempts=1,
    )
    [job] = stage.store.enqueue(bad)
    stage.watch.becomes(job.id, State.FAILED)
    shown = repr(stage.store.show(job.id))
    assert "details of a secret are not shown" in shown
    assert HUSH not in shown + stage.worker.log


def test_what_undoes_a_task_is_given_its_secret(stage: Stage) -> None:
    root = stage.store.enqueue([NewJob(key="login"), NewJob(key="last", parent="login")])[0].id
    done = secrets.log_in.using(parent=root).enqueue("ada", SecretStr(HUSH))
    done.wait("20s")
    stage.store.stop(root, rollback=True)

    def undone() -> list[str]:
        return [line for file in stage.folder.glob("undone-*") for line in stage.lines(file.name)]

    eventually(undone, "it is undone")
    assert undone() == [digest(HUSH)]
    assert HUSH not in stage.worker.log


def test_what_undoes_a_task_shows_no_more_than_the_task_did(stage: Stage) -> None:
    [root, done, _] = stage.store.enqueue(
        [
            NewJob(key="whole"),
            NewJob(
                task=secrets.remember.name,
                args={"word": HUSH},
                options={"secret": ["word"]},
                parent="whole",
            ),
            NewJob(key="last", parent="whole"),
        ]
    )
    stage.watch.becomes(done.id, State.COMPLETED)
    stage.store.stop(root.id, rollback=True)
    eventually(lambda: list(stage.folder.glob("forgotten-*")), "it is undone")
    [file] = stage.folder.glob("forgotten-*")
    assert stage.lines(file.name) == [digest(HUSH)]
    shown = stage.store.show(int(file.name.removeprefix("forgotten-")))
    assert shown.args == {"word": "***"}
    assert HUSH not in repr(shown) + stage.worker.log
