"""tenure webhook: create, list, rotate, test, deliveries, redeliver and delete."""

import pytest

from tenure.control import webhooks
from tenure.store.store import Store
from tenure.store.webhook_results import AttemptedDelivery
from tests.cli.running import Cli
from tests.factories import make_job

URL = "https://ci.example.org/hooks"


def test_a_webhook_is_created_tried_again_and_deleted(cli: Cli, store: Store) -> None:
    made = cli("webhook", "create", "ci", URL, "--event", "job.cancelled", "--task", "work")
    head, _, secret = made.out.partition("\nThe secret is shown only once; ")
    assert head == f"Webhook ci: job.cancelled to {URL}."
    assert "whsec_" in secret
    assert "whsec_" not in cli("webhook", "create", "ci", URL, "--event", "job.cancelled").out
    assert cli("webhook", "list").rows == [["ci", URL, "job.cancelled", "all", "0", "works"]]
    job = make_job(store)
    store.stop(job)
    [taken] = store.take_deliveries("ci")
    failed = AttemptedDelivery(taken.id, 1, 503, "the receiver answered 503")
    store.record_deliveries("ci", [failed])
    [row] = cli("webhook", "deliveries", "ci").rows
    assert row[:3] == [str(taken.id), "job.cancelled", str(job)]
    assert row[-1] == "not delivered yet: the receiver answered 503"
    [row] = cli("webhook", "list").rows
    assert row[-1].startswith("failing since ")
    assert " UTC (" in row[-1]
    again = cli("webhook", "redeliver", "ci").out
    assert again == "1 delivery to ci will be tried again.\n"
    assert "whsec_" in cli("webhook", "rotate", "ci", "--keep", "1h").out
    assert cli("webhook", "delete", "ci").out == "Webhook ci is deleted.\n"
    assert cli("webhook", "list").out == "no webhooks\n"


def test_a_test_that_no_worker_delivers_says_so(
    cli: Cli, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "PATIENCE", 0.1)
    store.set_webhook("ci", URL)
    tried = cli("webhook", "test", "ci")
    assert (tried.code, tried.out) == (1, "Delivery 1 to ci: not delivered yet.\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create", "ci", "ftp://example.org"), "the URL of a webhook begins with https:// or"),
        (("create", "ci", URL, "--event", "job.begun"), "for all events, or for one or more of"),
        (("test", "gone"), "there is no webhook 'gone'"),
        (("redeliver", "ci", "x"), "a delivery"),
    ],
)
def test_bad_input_gets_a_sentence(cli: Cli, words: tuple[str, ...], sentence: str) -> None:
    refused = cli("webhook", *words)
    assert refused.code != 0
    assert sentence in refused.err
    assert "Traceback" not in refused.err
