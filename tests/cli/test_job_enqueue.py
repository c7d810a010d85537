"""``tenure job enqueue``."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job

APP = """
from tenure import Tenure

app = Tenure()


@app.task(name="shop.crawl", queue="crawl", target="site:{site}", retry=1)
async def crawl(site: str, pages: int = 10) -> int:
    return pages
"""


@pytest.fixture
def app(tmp_path: Path) -> str:
    (tmp_path / "shop_app.py").write_text(APP)
    return f"{tmp_path / 'shop_app.py'}:app"


def test_a_job_is_enqueued_by_the_name_of_its_task(cli: Cli, store: Store) -> None:
    done = cli("job", "enqueue", "shop.crawl", "site=example.org", "pages=3", 'deep={"a": [1]}')
    assert (done.code, done.out, done.err) == (0, "Enqueued job 1.\n", "")
    job = store.show(1)
    assert (job.task, job.args) == (
        "shop.crawl",
        {"site": "example.org", "pages": 3, "deep": {"a": [1]}},
    )
    assert job.owner.startswith("db:")


def test_arguments_can_be_given_as_json(cli: Cli, store: Store) -> None:
    cli("job", "enqueue", "work", "--args", '{"a": 1, "b": 2}', "b=3")
    assert store.show(1).args == {"a": 1, "b": 3}


def test_the_options_reach_the_job(cli: Cli, store: Store) -> None:
    first = make_job(store)
    options = ["--queue", "slow", "--priority", "7", "--key", "nightly", "--target", "site:a"]
    options += ["--tag", "a", "--tag", "b", "--after", str(first), "--owner", "ada"]
    options += ["--at", "2090-01-01T12:00Z", "--unique", "one", "--idempotency", "once"]
    assert cli.json("job", "enqueue", "work", *options)["created"] is True
    job = store.show(first + 1)
    assert (job.queue, job.priority, job.key, job.target) == ("slow", 7, "nightly", "site:a")
    assert (job.tags, job.owner) == (("a", "b"), "ada")
    assert [need["job_id"] for need in job.needs] == [first]
    assert job.run_at == datetime(2090, 1, 1, 12, tzinfo=UTC)


def test_a_delay_is_a_time_from_now(cli: Cli, store: Store) -> None:
    cli("job", "enqueue", "work", "--delay", "1h")
    run_at = store.show(1).run_at
    assert run_at is not None
    assert timedelta(minutes=59) < run_at - datetime.now(UTC) <= timedelta(hours=1)


def test_parents_and_predecessors_may_be_named_by_their_key(cli: Cli, store: Store) -> None:
    mother, before = make_job(store, None, key="tree"), make_job(store, key="first")
    cli("job", "enqueue", "work", "--parent", "tree", "--after", "first")
    job = store.show(before + 1)
    assert job.parent_id == mother
    assert [need["job_id"] for need in job.needs] == [before]


def test_a_key_that_is_taken_names_the_job_that_has_it(cli: Cli) -> None:
    cli("job", "enqueue", "work", "--unique", "one")
    again = cli("job", "enqueue", "work", "--unique", "one")
    assert (again.code, again.out) == (0, "Job 1 already has this unique key.\n")
    assert cli.json("job", "enqueue", "work", "--unique", "one")["created"] is False


def test_an_app_checks_the_arguments_and_supplies_the_options_of_its_task(
    cli: Cli, store: Store, app: str
) -> None:
    done = cli("job", "enqueue", "shop.crawl", "site=a", "--app", app)
    assert (done.code, done.err) == (0, "")
    job = store.show(1)
    assert (job.queue, job.target, job.max_attempts) == ("crawl", "site:a", 2)
    refused = cli("job", "enqueue", "shop.crawl", "site=a", "pages=many", "--app", app)
    assert "pages" in refused.sentence(2)
    unknown = cli("job", "enqueue", "shop.craw", TENURE_APP=app)
    assert "there is no task 'shop.craw'; the nearest is 'shop.crawl'" in unknown.sentence(2)


def test_an_app_that_cannot_be_imported_is_told_with_its_traceback(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "broken_app.py").write_text("raise ValueError('no luck')\n")
    done = cli("job", "enqueue", "work", "--app", str(tmp_path / "broken_app.py"))
    assert done.code == 3
    assert "Traceback" in done.err
    assert "broken_app.py cannot be imported: ValueError: no luck" in done.err.splitlines()[-1]
    nowhere = cli("job", "enqueue", "work", "--app", "no.such.module:app")
    assert "there is no module 'no.such.module'" in nowhere.sentence(3)


def test_what_an_app_prints_does_not_mix_with_json(cli: Cli, app: str) -> None:
    path = Path(app.partition(":")[0])
    path.write_text(f"print('hello')\n{APP}")
    done = cli("job", "enqueue", "shop.crawl", "site=a", "--app", app, "--json")
    assert done.document["id"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["site"], "'site' is not an argument; write site=example.org"),
        (["a=1", "a=2"], "'a' is given twice"),
        (["--args", "[1]"], "--args takes a JSON object"),
        (["--args", "{"], "--args: '{' is not JSON"),
        (["--at", "noon"], "--at: 'noon' is not a point in time"),
        (["--at", "2030-01-01T12:00"], "has no time zone"),
        (["--at", "2030-01-01T12:00Z", "--delay", "1h"], "--at and --delay exclude each other"),
        (["--delay", "soon"], "delay: 'soon' is not a duration"),
        (["--queue", ""], "queue: it takes a text"),
        (["--priority", "99999"], "priority: it takes a whole number from"),
    ],
)
def test_invalid_options_and_arguments_are_refused_with_a_sentence(
    cli: Cli, store: Store, words: list[str], said: str
) -> None:
    assert said in cli("job", "enqueue", "work", *words).sentence(2)
    kind, message = cli("job", "enqueue", "work", *words, "--json").refusal(2)
    assert kind == "InputRefused"
    assert said in message
    assert store.statistics().total == 0


def test_a_predecessor_that_does_not_exist_is_refused(cli: Cli) -> None:
    assert "there is no job" in cli("job", "enqueue", "work", "--after", "77").sentence(10)
    assert "the key 'none'" in cli("job", "enqueue", "work", "--parent", "none").sentence(10)
