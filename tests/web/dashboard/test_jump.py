"""The search on top of every page, and the search field of the job list."""

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tenure.web.dashboard.search import read_search, write_search
from tests.factories import announcement, make_job, make_job_in
from tests.web.dashboard.visitor import Visitor


def destination(visitor: Visitor, wanted: str) -> str:
    answer = visitor.see(f"/jump?q={wanted}")
    assert answer.status_code == 303
    return answer.headers["location"]


def test_the_search_opens_a_job_a_record_or_a_page(vic: Visitor, store: Store) -> None:
    job = make_job(store)
    [keyed] = store.enqueue([NewJob(task="work", key="crawl-acme")])
    record = store.stop(job).cancellation_id
    assert destination(vic, str(job)) == f"/jobs/{job}"
    assert destination(vic, f"%23{job}") == f"/jobs/{job}"
    assert destination(vic, "crawl-acme") == f"/jobs/{keyed.id}"
    assert destination(vic, record) == f"/cancellations/{record}"
    assert destination(vic, "queues") == "/queues"
    assert destination(vic, "Bulk+operations") == "/bulks"
    store.announce_tasks([announcement("shop.pay")])
    make_job(store, queue="mail")
    assert destination(vic, "shop.pay") == "/tasks/shop.pay"
    assert destination(vic, "mail") == "/jobs?queue=mail"


def test_what_is_found_nowhere_is_searched_for_among_the_jobs(vic: Visitor, root: Visitor) -> None:
    assert destination(vic, "status%3Afailed") == "/jobs?q=status%3Afailed"
    assert destination(vic, "tokens") == "/jobs?q=tokens", "a viewer may not open that page"
    assert destination(root, "tokens") == "/tokens"
    assert destination(root, "new+token") == "/tokens#new"
    assert destination(vic, "new+token") == "/jobs?q=new+token"
    assert destination(vic, "") == "/jobs"


def test_the_search_completes_names(vic: Visitor, root: Visitor, store: Store) -> None:
    store.announce_tasks([announcement("shop.tokens")])
    make_job(store, queue="token-mail")
    assert vic.see("/jump/names?q=TOKEN").json() == ["shop.tokens", "token-mail"]
    assert root.see("/jump/names?q=token").json() == [
        *("Tokens", "New token", "shop.tokens", "token-mail"),
    ]


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("status:failed owner:ada", [("status", "failed"), ("owner", "ada")]),
        ("status:failed status:paused", [("status", "failed"), ("status", "paused")]),
        ("tag:eu big order", [("tag", "eu"), ("text", "big order")]),
        ('task:"two words" x', [("task", "two words"), ("text", "x")]),
        ("after:2h before:1h", [("since", "2h"), ("until", "1h")]),
        ("http://site 12:30", [("text", "http://site 12:30")]),
        (
            "status:failed,paused id:7,8",
            [("status", "failed"), ("status", "paused"), ("id", "7"), ("id", "8")],
        ),
        ('big "stat:failed order"', [("text", "stat:failed order"), ("text", "big")]),
        ("don't", [("text", "don't")]),
        ("", []),
    ],
)
def test_a_search_names_filters(text: str, filters: list[tuple[str, str]]) -> None:
    assert read_search(text) == filters


def test_a_search_is_written_as_it_is_read() -> None:
    filters: dict[str, str | list[str]] = {
        "status": ["failed", "paused"],
        "task": "two words",
        "owner": "o'hara",
        "tag": ['say "hi"', "back\\slash x"],
        "text": ["big order", "status:failed"],
    }
    pairs = [("status", "failed"), ("status", "paused"), ("task", "two words")]
    pairs += [("owner", "o'hara"), ("tag", 'say "hi"'), ("tag", "back\\slash x")]
    pairs += [("text", "big order"), ("text", "status:failed")]
    assert read_search(write_search(filters)) == pairs


def test_the_job_list_understands_a_search(vic: Visitor, store: Store) -> None:
    failed = make_job_in(store, State.FAILED, queue="mail", max_attempts=1)
    waiting = make_job(store, queue="mail")
    page = vic.sees("/jobs?q=queue:mail+status:failed+since:1h")
    assert f'href="/jobs/{failed}"' in page
    assert f'href="/jobs/{waiting}"' not in page
    assert "queue:mail" in page, "the field shows the search"
    answer = vic.see("/jobs?q=since:yesterday")
    assert answer.status_code == 422
    assert "since: must be a time such as 2030-01-01T12:00 or how long ago" in answer.text
