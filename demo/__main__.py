"""Run, stop, pause, lose and recover jobs on a real ``tenure up``."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from demo.deployment import LEASE, Deployment, deploy, eventually, is_gone
from demo.show import Show, timeline
from demo.site import HANGS, Site, served
from demo.tasks import agent, crawl, note
from tenure import Job, NewJob, Status

PAGES = 40


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything is cleaned up
    show = Show()
    show.title("Tenure: no job is lost, and a stopped job really stops")
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as folder, served() as site:
        show.line("tenure up: an embedded PostgreSQL, a worker and the API ...")
        with deploy(Path(folder)) as deployment:
            show.line(f"everything is running; the dashboard is at {deployment.address}/")
            play(show, deployment, site)
    show.title("All promises were kept." if not show.broken else "These promises were broken:")
    for promise in show.broken:
        show.line(promise)
    show.line("next: tenure up demo/tasks.py:app, then tenure top, and README.md")
    return 1 if show.broken else 0


def play(show: Show, deployment: Deployment, site: Site) -> None:
    crawling, stubborn = stop_two(show, deployment, site)
    paused = pause_one(show, deployment, site)
    with deployment.second_worker():
        frozen_worker = freeze_a_worker(show, deployment)
        killed_worker = kill_a_worker(show, deployment, site)
    summarize(show, deployment, [crawling, stubborn, paused, frozen_worker, killed_worker])


def stop_two(show: Show, deployment: Deployment, site: Site) -> tuple[int, int]:
    show.title("A cooperative crawl, and an agent that ignores SIGTERM")
    store = deployment.store
    site.hang()
    crawling = enqueue(deployment, crawl.new_job(site=site.url, pages=PAGES))
    stubborn = enqueue(deployment, agent.new_job(steps=300))
    show.watch(store, [crawling, stubborn], lambda jobs: all(done(job) >= HANGS for job in jobs))
    show.line(f"page {HANGS} of the site hangs, and so does the crawl")

    show.title(f"Cancel the crawl: tenure job cancel {crawling}")
    code = deployment.command("job", "cancel", str(crawling), "--reason", "enough pages")
    job, pages = store.show(crawling), store.job_output(crawling, "partials")
    show.promise(
        f"it is {job.status}, and the {len(pages)} pages it had read are kept",
        held=code == 0 and job.status is Status.CANCELLED and len(pages) == HANGS,
    )

    show.title(f"Cancel the agent by force: tenure job cancel {stubborn} --force")
    [first, *_] = store.job_output(stubborn, "partials")
    pids = [int(pid) for pid in first["value"]["pids"]]
    show.line(f"its processes are {pids[0]} and {pids[1]}, the second in its own session")
    before = [not is_gone(pid) for pid in pids]
    code = deployment.command("job", "cancel", str(stubborn), "--force", "--reason", "out of hand")
    show.promise(
        "no process of it is left, and its file was kept",
        held=code == 0
        and all(before)
        and all(map(is_gone, pids))
        and has_file(store.show(stubborn)),
    )
    return crawling, stubborn


def pause_one(show: Show, deployment: Deployment, site: Site) -> int:
    show.title("Pause a crawl and resume it from its checkpoint")
    store = deployment.store
    job = crawl_until_it_hangs(show, deployment, site)
    deployment.command("job", "pause", str(job), "--reason", "lunch")
    checkpoint: Any = store.show(job).checkpoint
    show.line(f"it is paused before page {checkpoint['page']}")
    site.resume()
    deployment.command("job", "resume", str(job))
    [ended] = show.watch(store, [job], lambda jobs: jobs[0].status is Status.COMPLETED)
    twice = [path for path, times in site.requests.items() if times > 1]
    show.promise(
        f"it continued from there: of {len(site.requests)} pages it read {len(twice)} again",
        held=ended.result == PAGES == len(site.requests) and twice == [f"/{HANGS}"],
    )
    return job


def freeze_a_worker(show: Show, deployment: Deployment) -> int:
    show.title("A worker freezes, another takes over, and the first wakes up")
    store = deployment.store
    refused = store.statistics().refused
    job = enqueue(deployment, note.new_job(seconds=LEASE / 4))
    show.watch(store, [job], lambda jobs: jobs[0].progress is not None)
    keeper = deployment.keeper_of(job)
    with frozen(keeper):
        show.line(f"process {keeper} is frozen; its lease of {LEASE:g} s expires")
        [ended] = show.watch(store, [job], lambda jobs: jobs[0].status is Status.COMPLETED)
    eventually(lambda: store.statistics().refused > refused)
    now = store.show(job)
    show.promise(
        "its second run completed, no attempt was spent, and late writes were refused",
        held=(now.result, now.crashes) == (1, 1) and now.completed_at == ended.completed_at,
    )
    return job


def kill_a_worker(show: Show, deployment: Deployment, site: Site) -> int:
    show.title("A worker is killed with kill -9 in the middle of a crawl")
    store = deployment.store
    job = crawl_until_it_hangs(show, deployment, site)
    keeper = deployment.keeper_of(job)
    os.kill(keeper, signal.SIGKILL)
    site.resume()
    show.line(f"process {keeper} is dead, and so is everything it ran")
    [ended] = show.watch(store, [job], lambda jobs: jobs[0].status is Status.COMPLETED)
    pages = sorted(kept["value"]["page"] for kept in store.job_output(job, "partials"))
    show.promise(
        "the job came back by itself, spent no attempt, and no page is missing",
        held=(ended.attempt, ended.crashes) == (1, 1) and pages == list(range(PAGES)),
    )
    return job


def summarize(show: Show, deployment: Deployment, jobs: list[int]) -> None:
    seen = [deployment.store.show(job) for job in jobs]
    show.title("What each job did, and when")
    timeline(show, seen)
    show.title("What was kept of each job")
    for job in seen:
        files = ", ".join(str(artifact["name"]) for artifact in job.artifacts)
        show.line(
            f"{job.task} {job.id} is {job.status}: {job.partials} partial results, "
            f"checkpoint {job.checkpoint or 'none'}, files {files or 'none'}"
        )
    show.title("Who did what: tenure audit")
    deployment.command("audit", "--limit", "8")


def crawl_until_it_hangs(show: Show, deployment: Deployment, site: Site) -> int:
    site.hang()
    job = enqueue(deployment, crawl.new_job(site=site.url, pages=PAGES))
    show.watch(deployment.store, [job], lambda jobs: done(jobs[0]) == HANGS)
    return job


def enqueue(deployment: Deployment, job: NewJob) -> int:
    [new] = deployment.store.enqueue([job])
    return new.id


def done(job: Job) -> int:
    progress: Any = job.progress or {}
    return int(progress.get("done") or 0)


def has_file(job: Job) -> bool:
    return [artifact["name"] for artifact in job.artifacts] == ["plan.txt"]


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(main())
