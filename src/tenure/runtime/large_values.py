"""Values that are too large for a row: JSON in an artifact of the job."""

from collections.abc import MutableMapping
from typing import Any

import msgspec

from tenure.domain.job import RESULT_ARTIFACT
from tenure.domain.values import refusals_about
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.effects import Offload, Work
from tenure.store.new_jobs import encode_bounded


def encode_large(attempt: Attempt, value: Any, what: str, in_row: int) -> bytes:
    """Return a value as JSON, of at most ``in_row`` bytes or what an artifact may have."""
    return encode_bounded(
        value, what, max(in_row, int(attempt.link.settings["max_artifact_bytes"]))
    )


def store_large(attempt: Attempt, text: bytes, what: str, in_row: int, name: str) -> Work[bool]:
    """Store JSON of more than ``in_row`` bytes as an artifact; return whether it was stored."""
    if len(text) <= in_row:
        return False
    from tenure.runtime.artifacts import artifacts_of

    store = artifacts_of(attempt)
    with refusals_about(what):
        kept = yield Offload(lambda: store.put(name, text))
    attempt.report(artifacts=((kept.name, kept.url, kept.size),))
    return True


def store_result(attempt: Attempt, text: bytes, in_row: int) -> Work[bool]:
    """Store the result of the job, if it is large."""
    return store_large(attempt, text, "the result", in_row, RESULT_ARTIFACT)


def read_large(attempt: Attempt, job: int, name: str) -> Work[Any]:
    """Return a value that a job stored as an artifact."""
    from tenure.runtime.artifacts import artifacts_of

    def read() -> bytes:
        with artifacts_of(attempt).of_job(job).open(name) as file:
            return file.read()

    return msgspec.json.decode((yield Offload(read)))


def result_of(attempt: Attempt, job: MutableMapping[str, Any]) -> Work[Any]:
    """Take the result from a job that was read; one in an artifact is read from there."""
    name = job["result_artifact"]
    if name is None:
        return job["result"]
    job["result_artifact"] = None
    return (yield from read_large(attempt, job["id"], name))
