"""Jobs that run, are stopped, paused, lost and found again, on a real ``tenure up``."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from demo.show import Show, timeline
from demo.site import HANGS, Site, served
from demo.surroundings import LEASE, Surroundings, eventually, is_gone, surroundings
from demo.tasks import agent, crawl, note
from tenure import NewJob
from tenure.domain.amount import amount
from tenure.domain.job import Job
from tenure.domain.lifecycle import Status

PAGES = 40


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and leave nothing behind
    show = Show()
    show.title("Tenure: a job cannot be lost, and when somebody stops it, it stops")
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as folder, served() as site:
        show.line("tenure up: an embedded PostgreSQL, a worker and the API ...")
        with surroundings(Path(folder)) as around:
            show.line(f"all of it is there; the page is at {around.address}/")
            play(show, around, site)
    show.title("All promises held." if not show.broken else "These promises did not hold:")
    for promise in show.broken:
        show.line(promise)
    show.line("to go on: tenure up demo/tasks.py:app, then tenure top, and README.md")
    return 1 if show.broken else 0


def play(show: Show, around: Surroundings, site: Site) -> None:
    obeys, ignores = stop_two(show, around, site)
    paused = pause_one(show, around, site)
    with around.second_worker():
        late = freeze_a_worker(show, around)
        killed = kill_a_worker(show, around, site)
    tell(show, around, [obeys, ignores, paused, late, killed])


def stop_two(show: Show, around: Surroundings, site: Site) -> tuple[int, int]:
    show.title("A crawl that obeys, and an agent that does not")
    store = around.store
    site.hang()
    obeys = enqueue(around, crawl.new_job(site=site.url, pages=PAGES))
    ignores = enqueue(around, agent.new_job(steps=300))
    show.watch(store, [obeys, ignores], lambda jobs: all(done(job) >= HANGS for job in jobs))
    show.line(f"page {HANGS} of the site hangs, and the crawl with it")

    show.title(f"Somebody cancels the crawl: tenure job cancel {obeys}")
    code = around.command("job", "cancel", str(obeys), "--reason", "enough pages")
    job, pages = store.show(obeys), store.job_output(obeys, "partials")
    show.promise(
        f"it is {job.status}, and the {len(pages)} pages it had read are kept",
        held=code == 0 and job.status is Status.CANCELLED and len(pages) == HANGS,
    )

    show.title(f"The agent ignores SIGTERM: tenure job cancel {ignores} --force")
    [told, *_] = store.job_output(ignores, "partials")
    pids = [int(pid) for pid in told["value"]["pids"]]
    show.line(f"its processes are {pids[0]} and {pids[1]}, the second in a session of its own")
    before = [not is_gone(pid) for pid in pids]
    code = around.command("job", "cancel", str(ignores), "--force", "--reason", "out of hand")
    show.promise(
        "of its processes none is left, and the file it had kept is there",
        held=code == 0
        and all(before)
        and all(map(is_gone, pids))
        and has_file(store.show(ignores)),
    )
    return obeys, ignores


def pause_one(show: Show, around: Surroundings, site: Site) -> int:
    show.title("A crawl is paused, and resumed from its checkpoint")
    store = around.store
    job = crawl_until_it_hangs(show, around, site)
    around.command("job", "pause", str(job), "--reason", "lunch")
    there: Any = store.show(job).checkpoint
    show.line(f"it stands still before page {there['page']}")
    site.go_on()
    around.command("job", "resume", str(job))
    [ended] = show.watch(store, [job], lambda jobs: jobs[0].status is Status.COMPLETED)
    twice = [path for path, times in site.asked.items() if times > 1]
    show.promise(
        f"it went on from there: of {len(site.asked)} pages it read {len(twice)} again",
        held=ended.result == PAGES == len(site.asked) and twice == [f"/{HANGS}"],
    )
    return job


def freeze_a_worker(show: Show, around: Surroundings) -> int:
    show.title("A worker hangs, as if its machine did; another takes over; the first wakes up")
    store = around.store
    refused = store.statistics().refused
    job = enqueue(around, note.new_job(seconds=LEASE / 4))
    show.watch(store, [job], lambda jobs: jobs[0].progress is not None)
    keeper = around.keeper_of(job)
    with frozen(keeper):
        show.line(f"process {keeper} stands still; its lease of {LEASE:g} s runs out")
        [ended] = show.watch(store, [job], lambda jobs: jobs[0].status is Status.COMPLETED)
    eventually(lambda: store.statistics().refused > refused)
    now = store.show(job)
    show.promise(
        "its second run ended it, no attempt was spent, and what the first said was refused",
        held=(now.result, now.crashes) == (1, 1) and now.completed_at == ended.completed_at,
    )
    return job


def kill_a_worker(show: Show, around: Surroundings, site: Site) -> int:
    show.title("A worker is killed with kill -9, in the middle of a crawl")
    store = around.store
    job = crawl_until_it_hangs(show, around, site)
    keeper = around.keeper_of(job)
    os.kill(keeper, signal.SIGKILL)
    site.go_on()
    show.line(f"process {keeper} is dead, and all that it ran with it")
    [ended] = show.watch(store, [job], lambda jobs: jobs[0].status is Status.COMPLETED)
    pages = sorted(kept["value"]["page"] for kept in store.job_output(job, "partials"))
    show.promise(
        "the job came back by itself, spent no attempt, and no page is missing",
        held=(ended.attempt, ended.crashes) == (1, 1) and pages == list(range(PAGES)),
    )
    return job


def tell(show: Show, around: Surroundings, jobs: list[int]) -> None:
    seen = [around.store.show(job) for job in jobs]
    show.title("What each of them did, and when")
    timeline(show, seen)
    show.title("What was kept of them")
    for job in seen:
        files = ", ".join(str(one["name"]) for one in job.artifacts)
        show.line(
            f"{job.task} {job.id} is {job.status}: {amount(job.partials, 'partial result')}, "
            f"checkpoint {job.checkpoint or 'none'}, files {files or 'none'}"
        )
    show.title("Who did what: tenure audit")
    around.command("audit", "--limit", "8")


def crawl_until_it_hangs(show: Show, around: Surroundings, site: Site) -> int:
    site.hang()
    job = enqueue(around, crawl.new_job(site=site.url, pages=PAGES))
    show.watch(around.store, [job], lambda jobs: done(jobs[0]) == HANGS)
    return job


def enqueue(around: Surroundings, job: NewJob) -> int:
    [born] = around.store.enqueue([job])
    return born.id


def done(job: Job) -> int:
    told: Any = job.progress or {}
    return int(told.get("done") or 0)


def has_file(job: Job) -> bool:
    return [one["name"] for one in job.artifacts] == ["plan.txt"]


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(main())
