"""The embedded PostgreSQL: a new folder, and processes that come, leave and are killed."""

import asyncio
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy

from tenure.store.embedded import Binaries, Embedded, find_binaries
from tests.system.embedded.users import (
    COME_AND_GO,
    FORK,
    Crowd,
    ask,
    crash,
    is_deserted,
    is_stopped,
    processes_of,
    starts_of,
    watchers_of,
)
from tests.workers import eventually


def test_a_new_folder_gets_a_database_fit_for_a_developers_machine(empty: Path) -> None:
    with Embedded.open(empty / "new") as user:
        expected = {
            "current_database()": "tenure",
            "current_setting('shared_buffers')": "128MB",
            "current_setting('fsync')": "on",
            "current_setting('synchronous_commit')": "on",
            "current_setting('max_connections')": "200",
            "current_setting('jit')": "off",
            "current_setting('timezone')": "UTC",
            "current_setting('server_encoding')": "UTF8",
            "current_setting('listen_addresses')": "",
            "(SELECT datcollate FROM pg_database WHERE datname = 'tenure')": "C",
        }
        assert {what: ask(user.url, f"SELECT {what}") for what in expected} == expected
    assert (empty / "new" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_was_there_before_gets_no_gitignore(empty: Path) -> None:
    (empty / "new").mkdir()
    Embedded.open(empty / "new").close()
    assert not (empty / "new" / ".gitignore").exists()


def test_the_url_suits_psycopg_asyncpg_and_sqlalchemy(folder: Path) -> None:
    awkward = folder.rename(folder.with_name("a b+c%20d&é@?#=x"))

    async def ask_asyncpg(url: str) -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval("SELECT 42")
        finally:
            await connection.close()

    with Embedded.open(awkward) as user:
        assert ask(user.url, "SELECT 42") == 42
        assert asyncio.run(ask_asyncpg(user.url)) == 42
        engine = sqlalchemy.create_engine(user.url.replace("postgresql", "postgresql+psycopg", 1))
        with engine.connect() as connection:
            assert connection.scalar(sqlalchemy.text("SELECT 42")) == 42
        engine.dispose()


def test_the_environment_of_another_database_does_not_lead_astray(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGDATABASE", "other")
    with Embedded.open(folder) as user:
        assert ask(user.url, "SELECT current_database()") == "tenure"


def test_opening_and_leaving_print_nothing(empty: Path, crowd: Crowd) -> None:
    user = crowd.user(empty / "new")
    user.url()
    assert user.leave() == ("left\n", "")


def test_processes_that_open_a_new_folder_at_once_share_one_initdb_and_one_server(
    empty: Path, crowd: Crowd
) -> None:
    counting, count = counting_initdb(empty)
    users = [crowd.user(empty / "new", chosen=counting) for _ in range(6)]
    assert len({user.url() for user in users}) == 1
    assert count.read_text() == "initdb\ninitdb --sync-only\n"
    assert starts_of(empty / "new") == 1
    assert len(watchers_of(empty / "new")) == 1


def counting_initdb(parent: Path) -> tuple[Binaries, Path]:
    real = find_binaries()
    folder, count = parent / "binaries", parent / "count"
    folder.mkdir()
    count.touch()
    count.chmod(0o666)
    (folder / "postgres").symlink_to(real.folder / "postgres")
    initdb = folder / "initdb"
    initdb.write_text(
        f"#!/bin/sh\n"
        f'case "$*" in *--sync-only*) what="initdb --sync-only";; *) what=initdb;; esac\n'
        f'echo "$what" >> {count}\n'
        f'exec {real.folder}/initdb "$@"\n'
    )
    initdb.chmod(0o755)
    return Binaries(folder, real.major), count


def test_the_last_to_leave_stops_the_server(folder: Path, crowd: Crowd) -> None:
    first, second = crowd.user(folder), crowd.user(folder)
    url = first.url()
    assert second.url() == url
    first.leave()
    assert ask(url, "SELECT 1") == 1
    second.leave()
    assert is_stopped(folder)


def test_opening_twice_in_one_process_counts_twice(folder: Path) -> None:
    first = Embedded.open(folder)
    second = Embedded.open(folder)
    first.close()
    first.close()
    assert ask(second.url, "SELECT 1") == 1
    second.close()
    assert is_stopped(folder)


def test_a_killed_user_no_longer_counts(folder: Path, crowd: Crowd) -> None:
    killed = crowd.user(folder)
    killed.url()
    with Embedded.open(folder):
        killed.kill()
    assert is_stopped(folder)


def test_the_server_ends_when_the_last_user_is_killed(folder: Path, crowd: Crowd) -> None:
    last = crowd.user(folder)
    last.url()
    last.kill()
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)


def test_the_server_ends_when_its_starter_is_killed_in_the_middle_of_the_start(
    folder: Path, crowd: Crowd
) -> None:
    starter = crowd.user(folder)
    eventually(lambda: (folder / "server.log").exists())
    starter.kill()
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)


def test_a_user_who_leaves_by_an_exception_still_leaves(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), Embedded.open(folder):
        _ = 1 / 0
    assert is_stopped(folder)


def test_a_forked_child_is_no_user(folder: Path, crowd: Crowd) -> None:
    parent = crowd.user(folder, then=FORK)
    url = parent.url()
    assert parent.says() == "forked"
    assert ask(url, "SELECT 1") == 1
    parent.kill()
    eventually(lambda: is_stopped(folder))
    eventually(lambda: len(processes_of(folder)) == 1)
    crash(*processes_of(folder))


def test_users_who_come_and_go_and_are_killed_never_find_the_server_gone(
    folder: Path, crowd: Crowd
) -> None:
    guests = [crowd.user(folder, then=COME_AND_GO) for _ in range(3)]
    for _ in range(3):
        victim = crowd.user(folder)
        victim.url()
        victim.kill()
    for guest in guests:
        said, errors = guest.leave()
        assert said.splitlines()[-1] == "left", errors
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)
