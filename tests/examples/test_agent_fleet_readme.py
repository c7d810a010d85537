"""The README of the fleet of agents works word for word."""

from pathlib import Path

import pytest

from tenure import Job, Settings, Tenure
from tenure.domain.lifecycle import ENDED
from tests.examples.clone import Clone
from tests.workers import ROOT

README = ROOT / "examples" / "agent_fleet" / "README.md"
AT_WORK = ("research", "server", "client")
WAITING = ("tests", "deploy")

pytestmark = pytest.mark.timeout(300)


def test_the_readme_works_word_for_word(tmp_path: Path) -> None:
    with (
        Tenure(settings=Settings(folder=tmp_path / ".tenure")) as app,
        Clone(tmp_path, "necrocode up", " runs ", lambda: agents_are_at_work(app)) as clone,
    ):
        clone.follow_page(README)
    assert clone.exit_code == 0


def agents_are_at_work(app: Tenure) -> bool:
    live = [job for job in app.store.list_jobs({"task": "agent"}) if job.state not in ENDED]
    return all(_is_where_it_stays(app.store.show(job.id)) for job in live)


def _is_where_it_stays(job: Job) -> bool:
    name = str(job.key).partition(".")[2]
    return name in WAITING or (name in AT_WORK and job.status == "running" and job.partials == 2)
