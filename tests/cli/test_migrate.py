"""The command ``tenure migrate``, as a user types it."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tenure.domain.tenant import Tenant
from tenure.store import schema
from tenure.store.embedded import find_binaries
from tenure.store.store import Store
from tests.conftest import chosen_binaries
from tests.factories import make_job
from tests.store.describe import describe

pytestmark = pytest.mark.fresh_database

COMMAND = Path(sys.executable).with_name("tenure")
Done = subprocess.CompletedProcess[str]


def everything(kind: str) -> str:
    return ", ".join([*(f"{it.number:04}_{it.name}" for it in schema.migrations(kind)), "verbs"])


ALL_OF_IT = f"control: applied {everything('control')}\ndefault: applied {everything('tenant')}\n"


def tenure(*words: str, **environment: str) -> Done:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return subprocess.run(
        [COMMAND, *words],
        check=False,
        capture_output=True,
        text=True,
        env={**ours, **environment},
        timeout=60,
    )


def migrate(url: str, *words: str) -> Done:
    return tenure("migrate", *words, TENURE_DATABASE_URL=url)


def schema_of(url: str, name: str) -> list[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        return describe(connection, name).splitlines()


def forget_the_verbs(url: str) -> None:
    """As if an older version had installed them."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE tenure.verbs SET digest = 'older' WHERE scope <> ''")


def test_an_empty_database_is_brought_up_to_date_once(empty_database: str) -> None:
    first = migrate(empty_database)
    assert (first.returncode, first.stdout, first.stderr) == (0, ALL_OF_IT, "")
    again = migrate(empty_database)
    assert again.returncode == 0
    assert again.stdout == "control: up to date\ndefault: up to date\n"
    with Store(empty_database) as store:
        make_job(store)


def test_the_url_can_be_an_option(empty_database: str) -> None:
    assert tenure("migrate", "--url", empty_database).stdout == ALL_OF_IT


def test_check_says_what_is_needed_and_exits_with_one_until_it_is_done(
    empty_database: str,
) -> None:
    before = migrate(empty_database, "--check")
    assert (before.returncode, before.stdout) == (1, ALL_OF_IT.replace("applied", "needs"))
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regnamespace('tenure')").fetchone() == (None,)
    migrate(empty_database)
    after = migrate(empty_database, "--check")
    assert (after.returncode, after.stderr) == (0, "")


def test_a_tenant_is_made_by_its_name(database: str) -> None:
    assert migrate(database, "--tenant", "acme", "--check").returncode == 1
    done = migrate(database, "--tenant", "acme")
    assert done.stdout.splitlines()[-1] == f"acme: applied {everything('tenant')}"
    assert migrate(database, "--tenant", "acme", "--check").returncode == 0
    with Store(database, Tenant("acme")) as store:
        make_job(store)


def test_all_brings_every_tenant_up_to_date(database: str) -> None:
    for name in ("acme", "umbrella"):
        migrate(database, "--tenant", name)
    forget_the_verbs(database)
    before = migrate(database, "--all", "--check")
    needed = {f"{name}: needs verbs" for name in ("default", "acme", "umbrella")}
    assert before.returncode == 1
    assert needed <= set(before.stdout.splitlines())
    done = migrate(database, "--all")
    assert done.returncode == 0
    assert {line.replace("needs", "applied") for line in needed} <= set(done.stdout.splitlines())
    assert migrate(database, "--all", "--check").returncode == 0


def test_all_of_an_empty_database_is_the_default_tenant(empty_database: str) -> None:
    assert migrate(empty_database, "--all", "--check").returncode == 1
    assert migrate(empty_database, "--all").stdout == ALL_OF_IT


@pytest.mark.parametrize("name", ["default", "acme"])
def test_the_printed_sql_makes_the_same_schema_in_psql(
    empty_database: str, database: str, name: str
) -> None:
    printed = tenure("migrate", "--sql", "--tenant", name)
    assert (printed.returncode, printed.stderr) == (0, "")
    psql = (chosen_binaries() or find_binaries()).folder / "psql"
    for _ in range(2):
        subprocess.run(
            [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", empty_database],
            input=printed.stdout,
            check=True,
            capture_output=True,
            text=True,
        )
    migrate(database, "--tenant", name)
    for made in ("tenure", Tenant(name).schema):
        assert schema_of(empty_database, made) == schema_of(database, made)
    assert migrate(empty_database, "--check", "--tenant", name).returncode == 0


def test_the_embedded_database_is_migrated_when_there_is_no_url(tmp_path: Path) -> None:
    done = tenure("migrate", TENURE_FOLDER=str(tmp_path / "own"))
    assert (done.returncode, done.stdout) == (0, ALL_OF_IT), done.stderr


# A user's mistake is one sentence


def sentence(done: Done, code: int = 1) -> str:
    assert done.returncode == code
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("tenure: ")
    return line.removeprefix("tenure: ")


@pytest.mark.parametrize("url", ["nonsense", "postgresql:///tenure?host=/nowhere"])
def test_a_url_that_leads_nowhere_is_told_in_a_sentence(url: str) -> None:
    assert sentence(migrate(url)).startswith("the database cannot be reached: ")


def test_a_database_that_does_not_exist_is_told_in_a_sentence(server: str) -> None:
    url = server.replace("/tenure?", "/nothing?")
    assert 'database "nothing" does not exist' in sentence(migrate(url))


@pytest.mark.parametrize("name", ["Acme", 'a"; DROP SCHEMA tenure; --'])
def test_a_name_no_tenant_can_have_is_told_in_a_sentence(server: str, name: str) -> None:
    assert "cannot be the name of a tenant" in sentence(migrate(server, "--tenant", name))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all", "--tenant", "acme"], "--all goes with neither --tenant nor --sql"),
        (["--all", "--sql"], "--all goes with neither --tenant nor --sql"),
        (["--check", "--sql"], "--check looks at a database and --sql needs none"),
    ],
)
def test_options_that_contradict_one_another_are_told_in_a_sentence(
    server: str, words: list[str], said: str
) -> None:
    assert said in sentence(migrate(server, *words))


def test_a_newer_database_is_told_in_a_sentence(database: str, sql: psycopg.Connection) -> None:
    sql.execute("INSERT INTO tenure.migration VALUES ('', 9999, 'from_the_future')")
    for words in ([], ["--check"]):
        assert "upgrade Tenure before you use" in sentence(migrate(database, *words))


def test_a_role_that_may_not_create_a_schema_is_told_in_a_sentence(
    empty_database: str,
) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        role = f"guest_of_{connection.info.dbname}"
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
    url = empty_database.replace("postgres@", f"{role}@")
    assert "the database role may not do this: permission denied" in sentence(migrate(url))


def test_a_setting_that_does_not_exist_is_told_in_a_sentence(tmp_path: Path) -> None:
    done = tenure("migrate", TENURE_FOLDER=str(tmp_path / "own"), TENURE_LEASES="20s")
    assert "there is no such setting" in sentence(done)


def test_an_option_that_does_not_exist_is_refused_without_a_traceback(server: str) -> None:
    done = migrate(server, "--nonsense")
    assert done.returncode == 2
    assert "--nonsense" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_version_need_no_database() -> None:
    shown = tenure("migrate", "--help")
    assert shown.returncode == 0
    for option in ("--tenant", "--all", "--check", "--sql", "--url"):
        assert option in shown.stdout
    assert tenure("--version").stdout.strip()
