"""tenure limit: set, list, show, close, open and delete."""

import json

import pytest

from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job, make_worker


def test_limits_are_set_shown_closed_opened_and_deleted(cli: Cli, store: Store) -> None:
    made = cli("limit", "set", "api", "--rate", "60/1m", "--rate", "tokens=900/1m:50")
    assert made.out == "Limit api: 60 calls per 1m, 900 tokens per 1m (burst 50).\n"
    job = make_job(store, limits=["api"])
    assert [claimed.id for claimed in make_worker(store).claim(2)] == [job]
    assert "60 calls per 1m" in cli("limit", "list").out
    assert "50 tokens" in cli("limit", "show", "api").out
    closed = cli("limit", "close", "api", "--for", "5m", "--reason", "429").out
    assert "closed by" in closed
    assert " UTC (in " in closed
    assert cli("limit", "open", "api").out == "Limit api is open again.\n"
    assert cli("limit", "open", "api").out == "Limit api was not closed.\n"
    assert json.loads(cli("limit", "list", "--json").out)[0]["name"] == "api"
    assert cli("limit", "delete", "api").out == "Limit api is deleted.\n"


def test_a_rate_that_cannot_be_read_is_refused_with_a_sentence(cli: Cli) -> None:
    refused = cli("limit", "set", "api", "--rate", "many").sentence(2)
    assert "'many' is not a rate; write 60/1m" in refused


@pytest.mark.parametrize(
    "rate",
    [
        "0/1m",
        "60/0s",
        "60/-1s",
        "-60/1m",
        "60/1m:0",
        "0.5/1m",
        "nan/1m",
        "9" * 400 + "/1m",
        "60/soon",
    ],
)
def test_a_rate_that_grants_nothing_or_everything_is_refused(cli: Cli, rate: str) -> None:
    assert cli("limit", "set", "api", "--rate", rate).sentence(2)
    assert json.loads(cli("limit", "list", "--json").out) == []


@pytest.mark.parametrize("at_once", ["0", "-1", "99999999999"])
def test_a_number_at_once_is_at_least_one(cli: Cli, at_once: str) -> None:
    assert cli("limit", "set", "api", "--at-once", at_once).sentence(2)


@pytest.mark.parametrize("duration", ["-1s", "999999d", "soon"])
def test_a_limit_is_closed_for_a_length_of_time(cli: Cli, duration: str) -> None:
    cli("limit", "set", "api", "--at-once", "1")
    assert cli("limit", "close", "api", "--for", duration).sentence(2)
    assert json.loads(cli("limit", "list", "--json").out)[0]["closed"] is None
