"""``tenure job stack``."""

from datetime import timedelta

from tenure.store.store import Store
from tests.cli.running import Cli
from tests.factories import make_job, make_worker
from tests.looks import answering


def test_where_a_job_is_and_what_it_takes(cli: Cli, store: Store) -> None:
    job = make_job(store, key="nightly")
    worker = make_worker(store, timedelta(hours=1))
    claimed = worker.claim_one()
    with answering(worker, claimed):
        shown = cli("job", "stack", "nightly", "--timeout", "40s")
        document = cli("job", "stack", str(job), "--timeout", "40s", "--json").document
    assert shown.code == 0, shown.err
    assert shown.lines[0].startswith(f"Job {job}, seen ")
    assert shown.lines[1:] == [
        "- it is well",
        "",
        "its function",
        '  File "/srv/shop.py", line 7, in crawl',
        "    time.sleep(9)",
        "",
        "pid  name    cpu   memory  state",
        "42   python  1.5s  2.0 MB  sleeping",
    ]
    assert document["stacks"][0]["frames"][0]["function"] == "crawl"
    assert document["processes"][0]["pid"] == 42


def test_an_unavailable_stack_is_explained(cli: Cli, store: Store) -> None:
    job = make_job(store)
    assert cli("job", "stack", str(job)).sentence(11) == "cannot inspect a job that is queued"
    make_worker(store, timedelta(hours=1)).claim_one()
    silent = cli("job", "stack", str(job), "--timeout", "10ms").sentence(14)
    assert silent.startswith(f"the worker of job {job} has not answered within")
    assert "--timeout" in cli("job", "stack", str(job), "--timeout", "soon").sentence(2)
