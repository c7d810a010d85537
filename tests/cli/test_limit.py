"""tenure limit: set, list, show, close, open and delete."""

import json

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
    assert cli("limit", "open", "api").out == "Limit api is open again.\n"
    assert cli("limit", "open", "api").out == "Limit api was not closed.\n"
    assert json.loads(cli("limit", "list", "--json").out)[0]["name"] == "api"
    assert cli("limit", "delete", "api").out == "Limit api is deleted.\n"


def test_a_rate_that_cannot_be_read_is_refused_with_a_sentence(cli: Cli) -> None:
    refused = cli("limit", "set", "api", "--rate", "many").sentence(2)
    assert "'many' is not a rate; write 60/1m" in refused
