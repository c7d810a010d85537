"""``tenure job stream``: what a job puts out, in lines."""

import json

from tenure.store.outcomes import LogLine, Report
from tenure.store.store import Store
from tests.cli.running import Cli, piped
from tests.factories import make_job, make_worker


def test_a_stream_is_printed_until_the_job_ends(database: str, store: Store, cli: Cli) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()

    def report(**told: object) -> None:
        worker.store.report(worker.id, [Report(job=job.id, token=job.token, **told)])  # type: ignore[arg-type]

    report(partials=[{"token": "a\x1b"}])
    with piped(database, "job", "stream", "1") as reading:
        reading.shows("status   running\n")
        report(logs=[LogLine("hello")], progress={"done": 1, "total": 2, "message": "half"})
        reading.shows("log      hello\n")
        reading.shows("progress 50% half\n")
        worker.finish(job, "failed", error={"type": "ValueError", "message": "no"})
        assert reading.ends() == 1
    assert reading.text.splitlines()[0] == 'partial  {"token": "a\\u001b"}'
    assert reading.text.splitlines()[-1] == "status   failed (no)"

    done = cli("job", "stream", "1", "--json")
    assert done.code == 1
    items = [json.loads(line) for line in done.out.splitlines()]
    assert items[0]["kind"] == "partial"
    number = items[0]["id"].partition(".")[0]
    rest = cli("job", "stream", "1", "--json", "--after", number)
    assert "partial" not in [json.loads(line)["kind"] for line in rest.out.splitlines()]
    assert "the id of an item" in cli("job", "stream", "1", "--after", "x").sentence(2)
