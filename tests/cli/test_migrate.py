"""``tenure migrate``."""

import json
import subprocess
from pathlib import Path

import psycopg
import pytest

from tenure.domain.tenant import Tenant
from tenure.store import schema
from tenure.store.embedded import find_binaries
from tenure.store.store import Store
from tests.cli.running import Cli, Done, process
from tests.conftest import chosen_binaries
from tests.factories import make_job
from tests.store.describe import describe

pytestmark = pytest.mark.fresh_database


def everything(kind: str) -> str:
    return ", ".join([*(f"{it.number:04}_{it.name}" for it in schema.migrations(kind)), "verbs"])


ALL_OF_IT = f"control: applied {everything('control')}\ndefault: applied {everything('tenant')}\n"


def tenure(*words: str, **environment: str) -> Done:
    return Cli("", **environment)(*words)


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
    assert (first.code, first.out, first.err) == (0, ALL_OF_IT, "")
    again = migrate(empty_database)
    assert again.code == 0
    assert again.out == "control: up to date\ndefault: up to date\n"
    with Store(empty_database) as store:
        make_job(store)


def test_the_url_can_be_an_option(empty_database: str) -> None:
    assert tenure("migrate", "--url", empty_database).out == ALL_OF_IT


def test_check_says_what_is_needed_and_exits_with_one_until_it_is_done(
    empty_database: str,
) -> None:
    before = migrate(empty_database, "--check")
    assert (before.code, before.out) == (1, ALL_OF_IT.replace("applied", "needs"))
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regnamespace('tenure')").fetchone() == (None,)
    migrate(empty_database)
    after = migrate(empty_database, "--check")
    assert (after.code, after.err) == (0, "")


def test_a_tenant_is_made_by_its_name(database: str) -> None:
    assert migrate(database, "--tenant", "acme", "--check").code == 1
    done = migrate(database, "--tenant", "acme")
    assert done.out.splitlines()[-1] == f"acme: applied {everything('tenant')}"
    assert migrate(database, "--tenant", "acme", "--check").code == 0
    with Store(database, Tenant("acme")) as store:
        make_job(store)


def test_all_brings_every_tenant_up_to_date(database: str) -> None:
    for name in ("acme", "umbrella"):
        migrate(database, "--tenant", name)
    forget_the_verbs(database)
    before = migrate(database, "--all", "--check")
    needed = {f"{name}: needs verbs" for name in ("default", "acme", "umbrella")}
    assert before.code == 1
    assert needed <= set(before.out.splitlines())
    done = migrate(database, "--all")
    assert done.code == 0
    assert {line.replace("needs", "applied") for line in needed} <= set(done.out.splitlines())
    assert migrate(database, "--all", "--check").code == 0


def test_all_of_an_empty_database_is_the_default_tenant(empty_database: str) -> None:
    assert migrate(empty_database, "--all", "--check").code == 1
    assert migrate(empty_database, "--all").out == ALL_OF_IT


@pytest.mark.parametrize("name", ["default", "acme"])
def test_the_printed_sql_makes_the_same_schema_in_psql(
    empty_database: str, database: str, name: str
) -> None:
    printed = tenure("migrate", "--sql", "--tenant", name)
    assert (printed.code, printed.err) == (0, "")
    psql = (chosen_binaries() or find_binaries()).folder / "psql"
    for _ in range(2):
        subprocess.run(
            [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", empty_database],
            input=printed.out,
            check=True,
            capture_output=True,
            text=True,
        )
    migrate(database, "--tenant", name)
    for made in ("tenure", Tenant(name).schema):
        assert schema_of(empty_database, made) == schema_of(database, made)
    assert migrate(empty_database, "--check", "--tenant", name).code == 0


def test_the_embedded_database_is_migrated_when_there_is_no_url(tmp_path: Path) -> None:
    done = tenure("migrate", TENURE_FOLDER=str(tmp_path / "own"))
    assert (done.code, done.out) == (0, ALL_OF_IT), done.err


# A user's mistake is one sentence


@pytest.mark.parametrize("url", ["nonsense", "postgresql:///tenure?host=/nowhere"])
def test_a_url_that_leads_nowhere_is_told_in_a_sentence(url: str) -> None:
    assert migrate(url).sentence(13).startswith("the database cannot be reached: ")


def test_a_database_that_does_not_exist_is_told_in_a_sentence(server: str) -> None:
    url = server.replace("/tenure?", "/nothing?")
    assert 'there is no database "nothing" on that server' in migrate(url).sentence(13)


@pytest.mark.parametrize("name", ["Acme", 'a"; DROP SCHEMA tenure; --'])
def test_a_name_no_tenant_can_have_is_told_in_a_sentence(server: str, name: str) -> None:
    assert "cannot be the name of a tenant" in migrate(server, "--tenant", name).sentence(2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all", "--tenant", "acme"], "--all excludes --tenant and --sql"),
        (["--all", "--sql"], "--all excludes --tenant and --sql"),
        (["--check", "--sql"], "--check and --sql exclude each other"),
    ],
)
def test_options_that_contradict_one_another_are_told_in_a_sentence(
    server: str, words: list[str], said: str
) -> None:
    assert said in migrate(server, *words).sentence(2)


def test_a_newer_database_is_told_in_a_sentence(database: str, sql: psycopg.Connection) -> None:
    sql.execute("INSERT INTO tenure.migration VALUES ('', 9999, 'from_the_future')")
    for words in ([], ["--check"]):
        assert "upgrade Tenure before you use" in migrate(database, *words).sentence(13)


def test_a_role_that_may_not_create_a_schema_is_told_in_a_sentence(
    empty_database: str,
) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        role = f"guest_of_{connection.info.dbname}"
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
    url = empty_database.replace("postgres@", f"{role}@")
    assert "the database role may not do this: permission denied" in migrate(url).sentence(12)


def test_a_setting_that_does_not_exist_is_told_in_a_sentence(tmp_path: Path) -> None:
    done = tenure("migrate", TENURE_FOLDER=str(tmp_path / "own"), TENURE_LEASES="20s")
    assert "there is no such setting" in done.sentence(1)


def test_an_option_that_does_not_exist_is_a_usage_error(server: str) -> None:
    refused = migrate(server, "--nonsense")
    assert refused.sentence(2) == "no such option: --nonsense; see tenure migrate --help"


# As a process, and as JSON


def test_the_command_is_a_process_with_an_exit_code(empty_database: str) -> None:
    first = process(empty_database, "migrate", "--check")
    assert (first.code, first.out) == (1, ALL_OF_IT.replace("applied", "needs"))
    assert process("nonsense", "migrate").sentence(13)


def test_what_was_done_is_told_as_json(empty_database: str) -> None:
    needed = migrate(empty_database, "--check", "--json")
    assert (needed.code, [it["scope"] for it in json.loads(needed.out)]) == (
        1,
        ["control", "default"],
    )
    assert migrate(empty_database, "--json").document == json.loads(needed.out)
    assert [it["work"] for it in migrate(empty_database, "--json").document] == [[], []]
    assert set(tenure("migrate", "--sql", "--json").document) == {"sql"}
    kind, said = migrate("nonsense", "--json").refusal(13)
    assert (kind, "cannot be reached" in said) == ("StoreUnavailable", True)
