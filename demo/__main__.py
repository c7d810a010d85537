"""Jobs being claimed, lost, recovered and stopped, on an embedded PostgreSQL."""

import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from demo.show import Show, timeline
from tenure import NewJob, Settings, Tenure
from tenure.domain.lifecycle import Rung, State, Status
from tenure.store.outcomes import Ending, LogLine, Report
from tenure.store.results import Claimed
from tenure.store.store import Store

LEASE = timedelta(seconds=1)


def main() -> int:
    show = Show()
    show.title("Tenure: a job cannot be lost, and when somebody stops it, it stops")
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as folder:
        show.line("starting an embedded PostgreSQL ...")
        with Tenure(settings=Settings(folder=Path(folder) / "pg")) as tenure:
            version = "PostgreSQL on a socket of its own"
            show.line(f"{version}, schema and verbs installed")
            play(show, tenure.store)
    show.title("All promises held." if not show.broken else "These promises did not hold:")
    for promise in show.broken:
        show.line(promise)
    return 1 if show.broken else 0


def play(show: Show, store: Store) -> None:
    show.title("A job of five tasks, in one transaction")
    answers = store.enqueue(
        [
            NewJob(key="site", owner="ada", tags=["demo"]),
            NewJob(key="crawl", task="crawl", parent="site", args={"site": "example.org"}),
            NewJob(key="chunk", task="chunk", parent="site", after=["crawl"]),
            NewJob(key="embed", task="embed", parent="site", after=["chunk"]),
            NewJob(key="index", task="index", parent="site", after=["embed"]),
            NewJob(key="report", task="report", parent="site", after=["index"]),
        ],
        by="ada",
    )
    ids = {answer.key: answer.id for answer in answers}
    site, everything = ids["site"], tuple(ids.values())
    store.promote()
    for reason in store.explain(ids["chunk"]).reasons:
        show.line(f"why is chunk not running? {reason.sentence}")

    show.title("Two workers; one of them falls silent")
    ann, bob = start_worker(show, store, "ann"), start_worker(show, store, "bob")
    crawl = claim(show, store, ann, "ann")
    store.report(
        ann,
        [
            Report(
                job=crawl.id,
                token=crawl.token,
                progress={"done": 2, "total": 3},
                partials=[["/"], ["/about"]],
                checkpoint={"page": 2},
                logs=[LogLine("two of three pages")],
            )
        ],
    )
    show.line("ann reports two pages and a checkpoint, and is never heard of again")
    dead = wait_for_death(show, store, bob)
    show.promise(
        f"the dead worker was noticed {dead:.2f} s after its last beat (lease {LEASE.seconds} s)",
        held=dead < 2 * LEASE.total_seconds(),
    )
    again = claim(show, store, bob, "bob")
    show.promise(
        f"the job goes on elsewhere, from checkpoint {again.checkpoint}, attempt {again.attempt}",
        held=again.id == crawl.id and again.checkpoint == {"page": 2} and again.attempt == 2,
    )
    late = store.finish(ann, [end(crawl, value=["a late result"])])
    show.promise(
        "the late result of the dead worker is refused, counted and kept",
        held=late.refused == (crawl.id,) and store.statistics().refused == 1,
    )
    finish(show, store, bob, "bob", again, value=["/", "/about", "/faq"])
    finish(show, store, bob, "bob", claim(show, store, bob, "bob"))

    show.title("Somebody stops the job")
    embed = claim(show, store, bob, "bob")
    record = store.stop(site, reason="customer left", by="ada", via="demo")
    name = record.cancellation_id
    show.line(f"ada cancels the job: {name}, status {record.status}")
    seen = store.show(site).status
    show.promise(
        f"while embed still runs the job is {seen}, not cancelled", held=seen == Status.CANCELLING
    )
    (signal,) = store.renew(bob).signals
    show.line(f"bob hears it with its beat: {signal.orders['intent']}, {signal.orders['reason']}")
    store.report(bob, [Report(job=embed.id, token=embed.token, partials=[{"vectors": 128}])])
    stopped = Ending(
        job=embed.id, token=embed.token, outcome="stopped", rung=Rung.INTERRUPTED, heard=True
    )
    store.finish(bob, [stopped])
    store.promote()
    record = store.cancellation(name)
    for step in record.progress:
        details = ", ".join(f"{value} {what}" for what, value in step.details.items())
        show.line(f"{'✓' if step.status == 'completed' else '…'} {step.step_name:<19} {details}")
    show.line(f"{name}: {record.status}, after {record.duration_seconds:.2f} s")
    show.promise("every member of the record has ended", held=record.success)
    show.promise(
        "completed tasks stay completed, and partial results are kept",
        held=set(record.tasks_completed) == {ids["crawl"], ids["chunk"]}
        and len(store.kept(embed.id, "partials")) == 1,
    )
    again_stopped = store.claim(bob, 10).jobs
    show.promise("nothing of a cancelled job is ever claimed again", held=not again_stopped)

    show.title("What is left on record")
    jobs = [store.show(job) for job in everything]
    show.jobs(jobs)
    show.console.print()
    timeline(show, [job for job in jobs if job.task and job.started_at])
    show.console.print()
    for row in store.trail():
        show.line(
            f"audit: {row.actor} {row.verb} {row.subject} {row.name} via {row.via}: {row.reason}"
        )


def start_worker(show: Show, store: Store, name: str) -> UUID:
    worker = uuid4()
    store.register(worker, name, 1, LEASE)
    show.line(f"{name} starts with a lease of {LEASE.seconds} s")
    return worker


def claim(show: Show, store: Store, worker: UUID, name: str) -> Claimed:
    store.promote()
    (job,) = store.claim(worker, 1).jobs
    show.line(f"{name} claims {job.task} (job {job.id}, attempt {job.attempt})")
    return job


def end(job: Claimed, value: object = None) -> Ending:
    return Ending(job=job.id, token=job.token, outcome="completed", value=value)


def finish(
    show: Show, store: Store, worker: UUID, name: str, job: Claimed, value: object = None
) -> None:
    time.sleep(0.3)  # the work
    store.renew(worker)
    answer = store.finish(worker, [end(job, value)])
    show.line(f"{name} finishes {job.task}: {answer.accepted.get(job.id, State.FAILED)}")


def wait_for_death(show: Show, store: Store, living: UUID) -> float:
    """Sweep as workers do until the silent one is declared dead; seconds since its last beat."""
    while True:
        store.renew(living)
        swept = store.recover()
        for dead in swept.dead:
            jobs = ", ".join(f"job {one.job} is {one.state}" for one in swept.recovered)
            show.line(f"the sweep declares {dead.host} dead; {jobs}")
            declared = store.kept(swept.recovered[0].job, "events")[-1]
            return _since(str(declared["at"]), str(declared["detail"]["beat_at"]))
        time.sleep(0.1)


def _since(later: str, earlier: str) -> float:
    from datetime import datetime

    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


if __name__ == "__main__":
    sys.exit(main())
