"""A sandbox, used by tests as their authors would: apps defined in the test, real verbs."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from tenure import Context, Pause, Retry, Settings, Snooze, State, Tenure
from tenure.domain.job import RESULT_ARTIFACT
from tenure.errors import InputRefused, JobCancelled, JobFailed, NotFound, TenureError
from tenure.testing import Databases, Sandbox


def test_a_run_gives_all_that_a_job_leaves_behind(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task
    def resize(ctx: Context, name: str) -> str:
        print("resizing", name)  # noqa: T201
        ctx.log.info("by half")
        ctx.progress(1, 2, "half")
        ctx.emit({"width": 10})
        ctx.spend(pixels=5)
        ctx.save_checkpoint(done=1)
        ctx.artifact("small/a.txt", b"small")
        assert ctx.temp_dir().is_dir()
        return f"small/{name}"

    run = sandbox.run(resize, "a.png")
    assert run.value == "small/a.png"
    assert run.partials == [{"width": 10}]
    assert run.progress == {"done": 1, "total": 2, "message": "half"}
    assert run.spent == {"pixels": 5}
    assert run.checkpoint == {"done": 1}
    assert run.artifacts == {"small/a.txt": b"small"}
    assert run.log == ["resizing a.png", "by half"]
    assert (run.status, run.attempts, run.error) == ("completed", 1, None)


def test_coroutines_and_functions_run_in_tests_of_both_kinds(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    @app.task
    def nested(a: int) -> int:
        return asyncio.run(_incremented(a))  # a function has no event loop around it

    @app.task(executor="thread")
    def threaded(a: int) -> int:
        return a * 2

    assert sandbox.run(add, 1, 2).value == 3
    assert sandbox.run(nested, 1).value == 2
    assert sandbox.run(threaded, 4).value == 8

    async def test() -> None:
        assert (await sandbox.arun(add, 1, b=2)).value == 3
        assert (await sandbox.arun(nested, 1)).value == 2
        await add.aenqueue(5, 6)
        [run] = await sandbox.adrain()
        assert run.value == 11
        with pytest.raises(InputRefused, match="await arun"):
            sandbox.run(add, 1, 2)

    asyncio.run(test())


async def _incremented(a: int) -> int:
    return a + 1


def test_the_error_of_a_job_is_raised_where_its_value_is_asked_for(sandbox: Sandbox) -> None:
    app = Tenure()
    failures: list[BaseException] = []

    @app.task(retry=1)
    def flaky(ctx: Context) -> int:
        raise ValueError(f"attempt {ctx.attempt}")

    @flaky.on_failure
    def note(ctx: Context, error: BaseException) -> None:
        failures.append(error)

    run = sandbox.run(flaky)
    assert run.job.state is State.PENDING
    with pytest.raises(ValueError, match="attempt 1"):
        _ = run.value
    run = sandbox.run_again(run)
    assert run.job.state is State.FAILED
    with pytest.raises(ValueError, match="attempt 2"):
        _ = run.value
    assert [str(error) for error in failures] == ["attempt 1", "attempt 2"]
    with pytest.raises(InputRefused, match="has ended"):
        sandbox.run_again(run)
    with pytest.raises(JobFailed):
        run.handle.result()


def test_a_drain_runs_children_and_retries_but_nothing_that_is_scheduled_for_later(
    sandbox: Sandbox,
) -> None:
    app = Tenure()

    @app.task
    def child(i: int) -> int:
        return i

    @app.task
    def parent(ctx: Context, n: int) -> int:
        return sum(ctx.wait_for([ctx.spawn(child, i) for i in range(n)]))

    @app.task(retry=Retry(max=3, base="1h", cap="5h"))
    def flaky(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise ValueError
        return ctx.attempt

    handle = parent.enqueue(3)
    retried = flaky.enqueue()
    later = child.using(delay="30d").enqueue(9)
    runs = {run.id: run for run in sandbox.drain()}
    assert handle.result() == 3
    assert retried.result() == 3
    assert later.status() == "scheduled"
    assert [run.value for run in runs.values()].count(3) == 2
    assert len(runs) == 5
    sandbox.clock.advance("31d")
    [run] = sandbox.drain()
    assert (run.id, run.value) == (later.id, 9)


def test_a_run_takes_its_own_job_and_the_children_it_waits_for(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task
    async def work(ctx: Context, deep: int) -> int:
        if not deep:
            return 1
        children = [await ctx.aspawn(work, deep - 1) for _ in range(2)]
        return sum(await ctx.await_for(children))

    before = work.enqueue(1)
    run = sandbox.run(work, 2)
    assert run.value == 4
    assert len(run.children) == 2
    job = before.job()
    assert (job.status, job.attempt) == ("queued", 0)


def test_a_job_is_cancelled_at_the_event_that_a_test_names(sandbox: Sandbox) -> None:
    app = Tenure()
    closed: list[str] = []

    @app.task
    def plain(ctx: Context) -> None:
        try:
            for i in range(5):
                ctx.emit(i)
        finally:
            closed.append("plain")

    @app.task
    async def coroutine(ctx: Context) -> None:
        try:
            for i in range(5):
                ctx.emit(i)
                await asyncio.sleep(0)
        finally:
            closed.append("coroutine")

    @plain.on_cancel
    def note(ctx: Context) -> None:
        closed.append(f"hook: {ctx.stop_reason}")

    sandbox.cancel_at(plain, "enough", emit=3)
    run = sandbox.run(plain)
    assert (run.status, run.partials) == ("cancelled", [0, 1, 2])
    assert closed == ["plain", "hook: enough"]
    with pytest.raises(JobCancelled, match="enough"):
        _ = run.value
    record = asyncio.run(app.cancellations.record_of(run.id))
    assert record.completed_at is not None

    sandbox.cancel_at(emit=2)
    assert sandbox.run(coroutine).partials == [0, 1]
    assert closed[2:] == ["coroutine"]
    assert sandbox.run(plain).status == "completed", "a trigger is used once"


def test_a_job_that_asks_by_itself_may_end_within_its_time(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task(ask_for="20s", grace="30s")
    def polite(ctx: Context) -> str:
        for i in range(5):
            ctx.emit(i)
            if ctx.cancelled:
                return f"{i} is enough"
        return "all"

    sandbox.cancel_at(emit=2)
    run = sandbox.run(polite)
    assert run.partials == [0, 1, "1 is enough"], "what it returns is kept"
    assert run.status == "cancelled"


def test_a_job_is_paused_and_continues_from_its_checkpoint(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task
    def count(ctx: Context) -> int:
        for i in range(int(ctx.checkpoint.get("i", 0)), 4):
            ctx.emit(i)
            ctx.save_checkpoint(i=i + 1)
        return 4

    sandbox.pause_at(checkpoint=2)
    run = sandbox.run(count)
    assert (run.status, run.checkpoint) == ("paused", {"i": 2})
    run.handle.resume()
    assert sandbox.run_again(run).value == 4
    assert run.partials == [0, 1, 2, 3]


@pytest.mark.parametrize("executor", ["async", "process"])
def test_a_killed_job_cleans_up_nothing_and_runs_again(
    sandbox: Sandbox, tmp_path: Path, executor: str
) -> None:
    app = Tenure()
    pids, cleaned = tmp_path / "pids", tmp_path / "cleaned"

    def work(ctx: Context) -> str:
        with pids.open("a") as file:
            file.write(f"{os.getpid()}\n")
        try:
            for i in range(int(ctx.checkpoint.get("i", 0)), 3):
                ctx.save_checkpoint(i=i + 1)
        finally:
            cleaned.touch()
        return "done"

    async def awork(ctx: Context) -> str:
        return work(ctx)

    task = app.task(name="work")(work if executor == "process" else awork)
    sandbox.kill_at(checkpoint=1)
    run = sandbox.run(task)
    assert not cleaned.exists()
    assert run.checkpoint == {"i": 1}
    assert run.job.crashes == 1
    assert run.job.state is State.PENDING
    assert sandbox.run_again(run).value == "done"
    assert cleaned.exists()
    first, second = map(int, pids.read_text().split())
    assert first != os.getpid() == second


@pytest.mark.parametrize("is_async", [True, False])
def test_a_job_that_is_killed_after_a_step_does_not_repeat_it(
    sandbox: Sandbox, tmp_path: Path, is_async: bool
) -> None:
    app = Tenure()
    done = tmp_path / "done"

    def work(name: str) -> str:
        with done.open("a") as file:
            file.write(f"{name}\n")
        return name

    async def awork(name: str) -> str:
        return work(name)

    def plain(ctx: Context) -> str:
        first = ctx.step("first", work, "a")
        ctx.sleep("1d")
        return f"{first}{ctx.step('second', work, 'b')}"

    async def coroutine(ctx: Context) -> str:
        first = await ctx.step("first", awork, "a")
        await ctx.sleep("1d")
        return f"{first}{await ctx.step('second', awork, 'b')}"

    task = app.task(name="stepwise")(coroutine if is_async else plain)
    sandbox.kill_at(step=1)
    run = sandbox.run(task)
    assert run.job.crashes == 1
    run = sandbox.run_again(run)
    assert run.job.state is State.PENDING, "it sleeps"
    [drained] = sandbox.drain()
    assert (drained.id, drained.value) == (run.id, "ab")
    assert done.read_text().split() == ["a", "b"]


def test_an_attempt_that_breaks_before_it_is_killed_says_why(
    databases: Databases, capfd: pytest.CaptureFixture[str]
) -> None:
    app = Tenure()

    @app.task
    def breaks(ctx: Context) -> None:
        pytest.fail("the price is wrong")

    sandbox = Sandbox(databases)
    sandbox.__enter__()
    sandbox.kill_at(checkpoint=1)
    assert sandbox.run(breaks).job.crashes == 1
    with pytest.raises(AssertionError, match="kill at checkpoint 1: no attempt got that far"):
        sandbox.__exit__(None)
    assert "the price is wrong" in capfd.readouterr().err


def test_a_trigger_that_nothing_reaches_fails_the_test(databases: Databases) -> None:
    app = Tenure()

    @app.task
    def emits(ctx: Context) -> None:
        ctx.emit(1)

    sandbox = Sandbox(databases)
    sandbox.__enter__()
    sandbox.cancel_at(emit=3)
    assert sandbox.run(emits).status == "completed"
    with pytest.raises(AssertionError, match=r"cancel at emit 3: .* the highest was 1"):
        sandbox.__exit__(None)


def test_a_trigger_is_refused_that_cannot_be_reached(sandbox: Sandbox) -> None:
    for wrong in ({}, {"emit": 0}, {"emits": 1}, {"emit": 1, "spawn": 1}, {"emit": True}):
        with pytest.raises(InputRefused, match="emit="):
            sandbox.cancel_at(**wrong)


def test_a_stop_from_outside_reaches_a_coroutine_that_waits(sandbox: Sandbox) -> None:
    app = Tenure()
    began = threading.Event()

    @app.task
    async def sleeps(ctx: Context) -> None:
        began.set()
        await asyncio.sleep(3600)

    async def test() -> None:
        running = asyncio.create_task(sandbox.arun(sleeps))
        while not began.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        [job] = sandbox.enqueued(sleeps)
        await (await app.ahandle(job.id)).acancel("enough")
        assert (await running).status == "cancelled"

    asyncio.run(test())


def test_limits_end_a_job_as_a_worker_would(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task(timeout="100ms", retry=0)
    async def slow() -> None:
        await asyncio.sleep(3600)

    @app.task(budget={"euro": 1}, on_budget="pause")
    def dear(ctx: Context) -> None:
        for _ in range(5):
            ctx.spend(euro=0.4)

    run = sandbox.run(slow)
    assert run.job.state is State.FAILED
    assert "timeout of 100ms" in str(run.job.error_message)
    run = sandbox.run(dear)
    assert run.status == "paused"
    assert run.spent["euro"] == pytest.approx(1.2)


def test_a_job_may_snooze_pause_and_take_slots(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task
    def snoozes(ctx: Context) -> str:
        if not ctx.checkpoint:
            ctx.save_checkpoint(seen=1)
            raise Snooze("1h")
        return "awake"

    @app.task
    def pauses() -> None:
        raise Pause("later")

    @app.task
    def holds(ctx: Context, pool: str) -> str:
        with ctx.slot(pool) as slot:
            return slot

    snoozes.enqueue()
    [run] = sandbox.drain()
    assert run.value == "awake"
    assert sandbox.run(pauses).status == "paused"
    app.store.create_pool("gpu", ["gpu0"])
    assert sandbox.run(holds, "gpu").value == "gpu0"
    with pytest.raises(NotFound, match="no pool 'cpu'"):
        _ = sandbox.run(holds, "cpu").value


def test_a_transaction_completes_its_job(sandbox: Sandbox) -> None:
    app = Tenure()
    with psycopg.connect(sandbox.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE paid (n integer)")

        @app.task
        def pay(ctx: Context) -> int:
            with ctx.transaction() as transaction:
                transaction.connection.execute("INSERT INTO paid VALUES (1)")
                transaction.complete(7)
            return 8

        assert sandbox.run(pay).value == 7
        assert connection.execute("SELECT count(*) FROM paid").fetchone() == (1,)


def test_a_cancel_rolls_back_what_was_completed(sandbox: Sandbox) -> None:
    app = Tenure()
    undone: list[str] = []

    @app.task
    def unbook(hotel: str) -> None:
        undone.append(hotel)

    @app.task(compensate=unbook)
    def book(hotel: str) -> str:
        return hotel

    @app.task
    def trip(ctx: Context) -> None:
        ctx.wait_for([ctx.spawn(book, "Ritz")])
        ctx.emit("booked")

    sandbox.cancel_at(emit=1)
    handle = trip.enqueue()
    sandbox.drain()
    assert handle.status() == "cancelled"
    app.store.rollback(str(handle.job().cancellation_id))
    sandbox.drain()
    assert undone == ["Ritz"]


def test_enqueued_jobs_are_found_by_task_and_arguments(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task
    def crawl(site: str, depth: int = 1) -> None: ...

    crawl.enqueue("a.org")
    crawl.enqueue("b.org", depth=2)
    sandbox.assert_enqueued(crawl, count=2)
    sandbox.assert_enqueued(crawl, args=("a.org",), count=1)
    [job] = sandbox.assert_enqueued(crawl, args={"site": "b.org", "depth": 2})
    assert job.args == {"site": "b.org", "depth": 2}
    sandbox.assert_enqueued(crawl, args=("c.org",), count=0)
    with pytest.raises(AssertionError, match=r"there are 2; .*a\.org"):
        sandbox.assert_enqueued(crawl, count=1)
    with pytest.raises(AssertionError, match="there are 0"):
        sandbox.assert_enqueued(crawl, args=("c.org",))


def test_every_app_uses_the_sandbox_and_gets_its_own_database_back(
    databases: Databases, database: str
) -> None:
    app = Tenure(database)

    @app.task
    def work() -> int:
        return 1

    outside = work.enqueue()
    with Sandbox(databases) as sandbox:
        assert app.url == sandbox.url != database
        assert sandbox.enqueued() == []
        work.enqueue()
        [run] = sandbox.drain()
        assert run.value == 1
        with pytest.raises(TenureError, match="another sandbox is open"), Sandbox(databases):
            pass
    assert app.url == database
    assert outside.status() == "queued"
    app.close()


def test_a_sandbox_leaves_nothing_behind(databases: Databases, server: str) -> None:
    app = Tenure()

    @app.task
    async def work() -> None: ...

    async def test(sandbox: Sandbox) -> None:
        await work.aenqueue()
        await sandbox.adrain()

    with Sandbox(databases) as sandbox:
        name = psycopg.conninfo.conninfo_to_dict(sandbox.url)["dbname"]
        asyncio.run(test(sandbox))
    with psycopg.connect(server) as connection:
        there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        assert there.fetchone() is None
    assert sys.stdout.__class__.__name__ != "TeeOutput"


def test_a_command_runs_as_a_job(sandbox: Sandbox) -> None:
    app = Tenure()
    greet = app.command("greet", ["echo", "hello {name}"])
    run = sandbox.run(greet, name="you")
    assert run.value == {"exit_code": 0}
    assert run.artifacts == {"output.txt": b"hello you\n"}


def test_settings_of_the_app_hold(sandbox: Sandbox) -> None:
    settings = Settings(max_result_bytes=1000, max_artifact_bytes=3000, retry=Retry(max=0))
    app = Tenure(settings=settings)

    @app.task
    def large(size: int) -> str:
        return "x" * size

    @app.task(retry=Retry(max=1))
    def second(ctx: Context) -> str:
        if ctx.attempt == 1:
            raise ValueError("not yet")
        return "x" * 2000

    run = sandbox.run(large, 2000)
    assert run.job.result is None
    assert run.value == run.handle.result() == "x" * 2000, "it is read from its artifact"
    assert list(run.artifacts) == [RESULT_ARTIFACT]
    assert sandbox.run(large, 900).job.result == "x" * 900
    again = sandbox.run(second)
    assert sandbox.run_again(again).value == "x" * 2000
    too_large = sandbox.run(large, 4000)
    assert too_large.job.state is State.FAILED
    assert "the result takes 4002 bytes" in str(too_large.job.error_message)


def test_without_pytest_a_program_opens_a_sandbox_by_itself(
    tmp_path: Path, temporary: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from tenure import Tenure\n"
        "from tenure.testing import Sandbox\n"
        "app = Tenure()\n"
        "@app.task\n"
        "def double(n: int) -> int:\n"
        "    return 2 * n\n"
        "with Sandbox() as sandbox:\n"
        "    print(sandbox.run(double, 21).value)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert (done.stdout, done.stderr) == ("42\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
    assert list(temporary.iterdir()) == []
