"""The list of jobs: tabs with counts, the search, trees, and actions on a selection."""

import re
from typing import Any
from urllib.parse import quote_plus

import pytest

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.store.call import Call
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote
from tests.web.dashboard.visitor import Visitor, actions, said, tags
from tests.web.http_client import Http
from tests.workers import eventually


def listed(page: str) -> list[int]:
    return [int(told["data-key"]) for tag, told in tags(page) if tag == "tr" and "data-key" in told]


def counts(page: str) -> dict[str, str]:
    """The number on each tab."""
    found = re.findall(r'data-key="tab-(\w+)">(.*?)</li>', page)
    numbers = {name: re.search(r'class="count[^>]*>([^<]*)<', tab) for name, tab in found}
    return {name: "" if number is None else number[1] for name, number in numbers.items()}


@pytest.fixture
def family(store: Store) -> int:
    """A root with 24 children in all states, of which one has a child."""
    root = make_job(store, "shop.family", key="top", owner="ann")
    made = [make_job(store, "shop.crawl", parent=root, args={"site": f"s{n}"}) for n in range(24)]
    make_job(store, "shop.page", parent=made[0])
    promote(store)
    worker = make_worker(store)
    held = {job.id: job for job in worker.claim(30)}
    worker.finish(held[made[1]])
    worker.finish(held[made[2]], "failed", error={"type": "E", "message": "no route"})
    worker.release(*(held[job] for job in made[3:]))
    return root


def test_tabs_count_what_a_search_leaves_and_stop_at_a_thousand(store: Store, vic: Visitor) -> None:
    make_job_in(store, State.FAILED, queue="mail", max_attempts=1)
    make_job_in(store, State.COMPLETED, queue="mail")
    store.stop(make_job(store, queue="mail"), intent=Intent.PAUSE)
    store.enqueue_many(NewJob(task="work", queue="many"), [{}] * 1001)
    promote(store)
    expected = {
        **dict.fromkeys(("Running", "Queued", "Waiting", "Cancelled"), "0"),
        **dict.fromkeys(("Paused", "Failed", "Completed"), "1"),
        "All": "",
    }
    # Counting has a time limit, which a busy machine may exceed.
    mail = "/jobs?queue=mail&status=paused"
    eventually(lambda: counts(vic.sees(mail)) == expected, lambda: str(counts(vic.sees(mail))))
    eventually(lambda: counts(vic.sees("/jobs?queue=many"))["Queued"] == "1,000+", "more")
    counted = store.status_counts({}, ["queued", "failed", "no such status"])
    assert counted == {"queued": 1001, "failed": 1}
    assert "/jobs?queue=mail&amp;status=failed" in vic.sees("/jobs?queue=mail")


def test_a_tree_is_one_row_until_it_is_opened(store: Store, vic: Visitor, family: int) -> None:
    other = make_job(store)
    page = vic.sees("/jobs")
    assert listed(page) == [other, family], "without a search only roots are listed"
    assert "24 children : 1 failed , 1 running , 21 waiting , 1 done" in said(page)
    opened = vic.sees(f"/jobs?open={family}")
    rows = listed(opened)
    assert rows[:2] == [other, family]
    assert len(rows) == 2 + 20, "a part of them; a link leads to all"
    assert f"/jobs?parent={family}" in opened
    assert len(listed(vic.sees(f"/jobs?parent={family}"))) == 24
    [failed] = listed(vic.sees(f"/jobs?parent={family}&state=failed"))
    assert "no route" in vic.sees(f"/jobs?q=id:{failed}")
    parent = store.list_jobs({"task": "shop.page"})[0].parent_id
    deeper = vic.sees(f"/jobs?q=id:{parent}&open={parent}")
    assert listed(deeper) == [parent, store.list_jobs({"task": "shop.page"})[0].id]
    assert f'child of <a href="/jobs/{family}">' in deeper
    assert vic.see(f"/jobs?{'&'.join(f'open={n}' for n in range(99))}").status_code == 200


def test_a_page_costs_two_queries_whatever_is_on_it(
    store: Store, vic: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = [make_job(store, None, key=f"r{n}") for n in range(60)]
    make_jobs(store, [NewJob(task="work", parent=root) for root in roots for _ in range(3)])
    sent: list[str] = []
    send = AuthorizedClient.asend

    async def counted(caller: AuthorizedClient, call: Call[Any]) -> Any:
        sent.append(call.verb)
        return await send(caller, call)

    monkeypatch.setattr(AuthorizedClient, "asend", counted)
    opened = "&".join(f"open={root}" for root in roots[-10:])
    part = vic.see(f"/jobs?parent=none&{opened}", x_fragment="main")
    assert len(listed(part.text)) == 50 + 10 * 3
    assert sorted(sent) == ["job_rows", "status_counts"]


def test_rows_show_arguments_without_secrets(store: Store, vic: Visitor) -> None:
    make_job(
        store,
        args={"site": "example.org", "card": "4111", "deep": {"a": [1]}},
        options={"secret": ["card"]},
    )
    make_job(store, args={"text": "x" * 100_000})
    page = vic.sees("/jobs")
    assert "site: example.org" in page
    assert "card: ***" in page
    assert "4111" not in page
    assert len(page) < 30_000, "large arguments are not sent"


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        ("stat:failed", "stat: is not a field; did you mean status?"),
        ("colour:red", 'To search for the text itself, put it into quotes: "colour:..."'),
        ("status:fail", "status: there is no 'fail'; did you mean failed?"),
        ("queue:", "queue: needs a value: name of a queue"),
        ("since:yesterday", "since: must be a time such as 2030-01-01T12:00 or how long ago"),
        ("parent:top", 'a filter by parent takes the id of a job, or "none"'),
        ("needle", "text alone would be looked for in all jobs; add another filter"),
        ("id:x", 'a filter by id takes the id of a job, and "x" is none'),
    ],
)
def test_a_search_that_is_wrong_is_answered_by_a_sentence_under_the_field(
    vic: Visitor, search: str, sentence: str
) -> None:
    answer = vic.see(f"/jobs?q={quote_plus(search)}")
    assert answer.status_code == 422
    assert sentence in said(answer.text)
    shown = [told for _, told in tags(answer.text) if told.get("id") == "search"]
    assert [told["value"] for told in shown] == [search], "and can be corrected"


def test_words_are_completed_from_what_is_there(http: Http, store: Store, vic: Visitor) -> None:
    make_job(store, "shop.charge", queue="two words", owner="ada", tags=["eu"], key="k-1")
    make_job(store, "shop.crawl", owner="ben", target="site:1")

    def offered(word: str) -> list[str]:
        return [text for text, _ in vic.see(f"/complete?word={quote_plus(word)}").json()]

    assert offered("sta") == ["status:"]
    assert offered("status:failed,pau") == ["status:failed,pausing", "status:failed,paused"]
    assert offered("task:shop.c") == ["task:shop.charge", "task:shop.crawl"]
    assert offered('queue:"two') == ['queue:"two words"']
    assert offered("owner:") == ["owner:ada", "owner:ben"]
    assert offered("tag:e") == ["tag:eu"]
    assert offered("key:k") == ["key:k-1"]
    assert offered("target:") == ["target:site:1"]
    assert offered("after:1") == ["since:10m", "since:1h"]
    assert offered("text") == []
    assert http.get("/complete?word=owner:").status_code == 303, "not without a login"


def test_a_selection_is_previewed_and_then_changed(
    store: Store, ann: Visitor, vic: Visitor
) -> None:
    mine = [make_job(store, owner="ann") for _ in range(3)]
    theirs, left = make_job(store, owner="ben"), make_job(store, owner="ann")
    chosen = "&".join(f"id={job}" for job in (*mine, theirs))
    assert not [told for _, told in tags(vic.sees("/jobs")) if told.get("name") == "id"]
    page = ann.sees(f"/bulk?from=list&q=owner:ann&intent=cancel&{chosen}")
    assert "Cancel 3 jobs?" in said(page)
    assert "1 job stays as it is, because it belongs to others" in said(page)
    assert "Keep them as they are" in said(page)
    assert "/bulk" in actions(page)
    fields = {
        told["name"]: told["value"]
        for tag, told in tags(page)
        if tag == "input" and told.get("type") == "hidden"
    }
    assert fields["id"] == ",".join(map(str, (*mine, theirs)))
    forged = ann.send("/bulk", {**fields, "csrf": "0" * 64, "reason": "x"})
    assert forged.status_code == 403
    done = ann.send("/bulk", {**fields, "reason": "wrong site"})
    assert done.status_code == 303
    assert {store.show(job).state for job in mine} == {State.CANCELLED}
    assert {store.show(job).state for job in (theirs, left)} == {State.PENDING}
    result = said(ann.sees(done.headers["location"]))
    assert "4 selected jobs 3 of 4 asked to stop , 1 belong to other owners" in result
    assert vic.does("/bulk", id=str(left), intent="cancel", reason="x").status_code == 403


def test_all_that_match_are_chosen_and_nothing_never_means_everything(
    store: Store, root: Visitor
) -> None:
    make_job(store, queue="mail")
    make_job(store)
    page = said(root.sees("/bulk?from=list&all=1&q=queue:mail&intent=pause&id=999"))
    assert "Pause 1 job? Jobs that match queue: mail" in page
    empty = root.see("/bulk?from=list&q=queue:mail&intent=cancel")
    assert empty.status_code == 422
    assert "no job is selected" in said(empty.text)
