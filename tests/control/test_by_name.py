"""Jobs that are asked for by the name of their task and arguments in JSON."""

from collections.abc import Iterator
from typing import Any

import pytest

from tenure.app import Tenure
from tenure.control.by_name import enqueued, job_of
from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, JobNotFound


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    with Tenure(database) as app:

        @app.task(name="crawl", queue="crawl", target="site:{site}")
        def crawl(site: str, pages: int = 10) -> int:
            return pages

        yield app


@pytest.fixture
def client(database: str) -> Iterator[Client]:
    with Client(database) as client:
        yield client


def test_a_known_task_has_its_arguments_checked_and_its_options(app: Tenure) -> None:
    job = job_of(app, "crawl", {"site": "a", "pages": 3}, {"priority": 5, "retry": {"max": 1}})
    assert (job.task, job.queue, job.target, job.priority) == ("crawl", "crawl", "site:a", 5)
    assert (job.args, job.max_attempts) == ({"site": "a", "pages": 3}, 2)
    with pytest.raises(InputRefused, match="there is no parameter 'self'"):
        job_of(app, "crawl", {"site": "a", "self": 1}, {})
    with pytest.raises(InputRefused, match="cannot take these arguments"):
        job_of(app, "crawl", {"pages": 1}, {})


def test_options_of_a_job_do_not_leak_to_others(app: Tenure) -> None:
    job_of(app, "crawl", {"site": "a"}, {"priority": 5, "key": "k"})
    job = job_of(app, "crawl", {"site": "a"}, {})
    assert (job.priority, job.key) == (0, None)


@pytest.mark.parametrize(
    ("task", "said", "why"),
    [
        ("craw", {}, "there is no task 'craw'; the nearest is 'crawl'"),
        ("tenure.rollback", {}, "is a task of Tenure itself"),
        ("crawl", {"priority": "high"}, "priority: it takes a whole number"),
        ("crawl", {"delay": "soon"}, "'soon' is not a duration"),
        ("crawl", {"retry": {"often": 3}}, "'often' is unknown"),
        ("crawl", {"colour": 1}, "there is no such option"),
    ],
)
def test_invalid_options_and_arguments_are_refused_with_a_sentence(
    app: Tenure, task: str, said: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputRefused, match=why):
        job_of(app, task, {"site": "a"}, said)


def test_who_knows_no_tasks_takes_every_name_but_tenures_own(client: Client) -> None:
    job = job_of(client, "anything", {"x": [1]}, {"tags": ["a"], "timeout": "1m"})
    assert (job.task, job.args, job.tags) == ("anything", {"x": [1]}, ("a",))
    assert job.options == {"timeout": "1m"}
    with pytest.raises(InputRefused, match="is a task of Tenure itself"):
        job_of(client, "tenure.rollback", {}, {})


def test_a_job_without_a_task_takes_no_arguments(client: Client) -> None:
    assert job_of(client, None, {}, {"key": "whole"}).task is None
    with pytest.raises(InputRefused):
        job_of(client, None, {"x": 1}, {})


def test_keys_stand_for_jobs_of_the_same_call_and_for_others(client: Client) -> None:
    [there] = client.store.enqueue(NewJob(task="first", key="there"))
    whole = job_of(client, None, {}, {"key": "whole"})
    part = job_of(client, "part", {}, {"parent": "whole", "after": ["there"], "key": "part"})
    made = client.perform(enqueued([whole, part]), DEFAULT)
    job = client.store.show(made[1].id)
    assert job.parent_id == made[0].id
    assert [need["job_id"] for need in job.needs] == [there.id]
    with pytest.raises(JobNotFound, match="no job with the key 'nobody'"):
        client.perform(enqueued([job_of(client, "x", {}, {"parent": "nobody"})]), DEFAULT)


def test_secret_arguments_are_not_shown(client: Client) -> None:
    job = job_of(client, "pay", {"card": "4711", "sum": 5}, {"secret": ["card"]})
    assert job.options == {"secret": ["card"]}
    [made] = client.perform(enqueued([job]), DEFAULT)
    assert client.store.show(made.id).args == {"card": "***", "sum": 5}
    with pytest.raises(InputRefused, match="there is no argument 'cvc'"):
        job_of(client, "pay", {"card": "4711"}, {"secret": ["cvc"]})
