"""The README of the API automation works word for word."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tenure import Job, Settings, Tenure
from tests.examples.clone import Clone
from tests.workers import ROOT

README = ROOT / "examples" / "api_automation" / "README.md"

pytestmark = pytest.mark.timeout(300)


def test_the_readme_works_word_for_word(tmp_path: Path) -> None:
    with (
        Tenure(settings=Settings(folder=tmp_path / ".tenure")) as app,
        Clone(tmp_path, "uvicorn", "Uvicorn running on", lambda: jobs_stand_still(app)) as clone,
    ):
        clone.follow_page(README)
    assert clone.exit_code in (0, -signal.SIGINT)  # uvicorn ends by the signal it was sent


def jobs_stand_still(app: Tenure) -> bool:
    """Tell whether every job has ended, is paused or in its last call, or waits for such a job."""
    jobs = app.store_of("acme").list_jobs()
    open_ = [job for job in jobs if job.status not in ("completed", "blocked")]
    return all(map(_stands_still, open_)) and (bool(open_) or not _are_blocked(jobs))


def _stands_still(job: Job) -> bool:
    return job.status == "paused" or (job.status == "running" and bool(job.progress))


def _are_blocked(jobs: Sequence[Job]) -> bool:
    return any(job.status == "blocked" for job in jobs)
