"""``tenure task``: the catalogue on the command line."""

from pathlib import Path

import pytest

from tenure.store.store import Store
from tests.cli.running import Cli

APP = """
from tenure import Tenure

app = Tenure()


@app.task(name="crawl", retry=0, target="site:{site}")
async def crawl(site: str, pages: int = 10) -> None:
    "Crawl a site."
"""


@pytest.fixture
def alone(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A database in which nothing was announced, in a folder with an app."""
    (tmp_path / "app_of_test_task.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    return Cli(database)


def test_tasks_are_announced_without_a_worker_listed_and_shown(alone: Cli, store: Store) -> None:
    said = alone("job", "enqueue", "crawl", "site=a").sentence(2)
    assert "no task has been announced yet" in said
    assert alone("task", "announce", "app_of_test_task.py:app").out.startswith("Announced 1 task")
    assert [task["name"] for task in alone.json("task", "list")] == ["crawl"]
    shown = alone.json("task", "show", "crawl")
    assert (shown["doc"], shown["target"], shown["serving"]) == ("Crawl a site.", "site:{site}", [])
    assert "Crawl a site." in alone("task", "show", "crawl").out
    assert alone("task", "show", "craw").sentence(10) == (
        "there is no task 'craw'; the nearest is 'crawl'"
    )
    made = alone.json("job", "enqueue", "crawl", "site=a")
    job = store.show(made["id"])
    assert (job.target, job.max_attempts) == ("site:a", 1)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("craw", "site=a"), "there is no task 'craw'; the nearest is 'crawl'. If it is still"),
        (("crawl",), "cannot take these arguments: site is missing"),
        (("crawl", "site=a", "pages=many"), "pages: it takes a whole number"),
        (("crawl", "site=a", "x=1"), "there is no parameter 'x'; it takes site, pages"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    words: tuple[str, ...], why: str, alone: Cli, store: Store
) -> None:
    alone("task", "announce", "app_of_test_task.py:app")
    assert why in alone("job", "enqueue", *words).sentence(2)
    assert store.list_jobs() == ()
