"""The research agent in a real worker, killed -9 and cancelled within each of its calls.

A call is held where the test wants it: the model does not answer, or the database does not write
the row with which a step, a question, a grant or a reservation begins to count.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from examples.research_agent import agent

from tenure import Retry
from tenure.control.handle import Handle
from tenure.domain.step import StepRecord
from tenure.store.store import Store
from tests.examples.conftest import Start, pointed_at
from tests.examples.model_server import QUESTIONS, TOKENS, ModelServer, model_server
from tests.system.scene import SHORT, kill_all
from tests.workers import RunningWorker, eventually, is_gone

APP = "examples.research_agent.agent:app"
BUDGET = 2_000
PROMPTS = {
    "plan": "Plan",
    "read": f"Answer: {QUESTIONS[0]}",
    "read#2": f"Answer: {QUESTIONS[1]}",
    "read#3": f"Answer: {QUESTIONS[2]}",
    "draft": "Write",
}
ROWS = {name: ("job_step", f"NEW.name = '{name}'") for name in (*PROMPTS, "ask", "publish")}
ROWS["a grant"] = ("limit_grant", "NEW.number > 0")
ROWS["a reservation"] = ("reservation", "true")
MOMENTS = [("model", name) for name in PROMPTS] + [("row", name) for name in ROWS]
MOMENTS.append(("person", "ask"))
_HOLD = """
CREATE SCHEMA tenure_hold;
CREATE FUNCTION tenure_hold.hold() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock_shared(7117); RETURN NEW; END $$;
"""


class Play:
    """Jobs of the agent, one after the other; their model, and what was seen of both."""

    def __init__(
        self, store: Store, sql: psycopg.Connection, model: ModelServer, folder: Path
    ) -> None:
        self.store = store
        self.sql = sql
        self.model = model
        self.base = folder

    def begin(self, where: str, what: str) -> None:
        self.model.forget()
        self.folder = self.base / f"{where} {what}"
        self.handle: Handle[str] = agent.research.using(
            budget={"tokens": BUDGET}, retry=Retry(max=20, base=timedelta(milliseconds=10))
        ).enqueue("green tea", folder=str(self.folder))

    @contextmanager
    def held(self, where: str, what: str) -> Iterator[Callable[[], None]]:
        """Hold the job within a call; yield what lets it go."""
        if where == "person":
            eventually(lambda: self.handle.status() == "waiting", "it waits for an answer")
            yield lambda: None
            return
        if where == "model":
            self.model.hold(PROMPTS[what])
            eventually(self.model.is_held.is_set, f"the model is asked for {what}")
            yield self.model.release
            return
        table, condition = ROWS[what]
        with psycopg.connect(self.sql.info.dsn, autocommit=True) as holder:
            holder.execute("SELECT pg_advisory_lock(7117)")
            self.sql.execute(
                f"CREATE TRIGGER hold BEFORE INSERT ON tenure.{table} FOR EACH ROW"
                f" WHEN ({condition}) EXECUTE FUNCTION tenure_hold.hold()".encode()
            )
            if what == "publish":
                self.approve()
            eventually(self._is_blocked, f"the row of {what} is written")
            yield lambda: self._let_go(holder, table)

    def _let_go(self, holder: psycopg.Connection, table: str) -> None:
        holder.execute("SELECT pg_advisory_unlock_all()")
        self.sql.execute(f"DROP TRIGGER hold ON tenure.{table}".encode())

    def _is_blocked(self) -> bool:
        found = self.sql.execute(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7117 AND NOT granted"
        )
        return found.rowcount > 0

    def approve(self) -> None:
        eventually(self.handle.questions, "it asks")
        self.handle.answer({"ok": True})

    def cancel(self) -> None:
        self.stop_id = self.handle.cancel().cancellation_id

    def kept(self) -> dict[str, StepRecord]:
        return {step.name: step for step in self.handle.steps() if step.status == "done"}

    def finish(self) -> None:
        """Let the job come to its end, and approve the report."""

        def is_over() -> bool:
            if self.handle.questions():
                self.handle.answer({"ok": True})
            return self.handle.status() == "completed"

        eventually(is_over, lambda: f"it completes, and is {self.handle.job()}")

    def nothing_is_open(self, worker: RunningWorker) -> None:
        for table in ("reservation", "limit_grant"):
            left = self.sql.execute(f"SELECT * FROM tenure.{table}".encode()).fetchall()
            assert not left, f"{table}: {left}"
        assert self.handle.questions() == ()
        eventually(lambda: self.model.open == 0, "no request of the model is open")
        eventually(lambda: not self._sockets(worker), "no socket to the model is open")
        names = [path.name for path in self.folder.glob("*")]
        assert set(names) <= {"green-tea.md"}, names

    def _sockets(self, worker: RunningWorker) -> list[Any]:
        port = self.model.server_port
        found = []
        for process in worker.tree:
            with suppress(psutil.NoSuchProcess):
                found += process.net_connections("tcp")
        return [one for one in found if one.raddr and one.raddr.port == port]


@pytest.fixture
def play(database: str, store: Store, tmp_path: Path) -> Iterator[Play]:
    store.set_limit(
        "model",
        {"calls": {"amount": 600, "per": "1m"}, "tokens": {"amount": 90_000, "per": "1m"}},
        at_once=4,
    )
    with (
        psycopg.connect(database, autocommit=True) as sql,
        model_server() as model,
        pointed_at(agent.app, database),
    ):
        sql.execute(_HOLD)
        try:
            yield Play(store, sql, model, tmp_path)
        finally:
            sql.execute("DROP SCHEMA tenure_hold CASCADE")


def check(play: Play, kept: dict[str, StepRecord], asked: int, kills: int) -> None:
    """Check a job that has completed: what it had kept, what it asked for again, what it spent."""
    now = play.kept()
    assert {name: now[name] for name in kept} == kept, "a step that was kept was written again"
    later = play.model.prompts[asked:]
    again = [name for name, prompt in PROMPTS.items() if name in kept and
             any(line.startswith(prompt) for line in later)]  # fmt: skip
    assert not again, f"{again} were kept and ran again"
    assert len(play.model.prompts) <= len(PROMPTS) + kills * agent.AT_ONCE
    spent = play.handle.job().spent["tokens"]
    assert play.model.billed <= spent <= BUDGET
    assert spent <= len(PROMPTS) * TOKENS + kills * agent.AT_ONCE * agent.MAX_TOKENS
    [report] = play.folder.iterdir()
    assert report.read_text().startswith("On Write a report")


@pytest.mark.timeout(240)
def test_a_runner_is_killed_within_each_call(play: Play, worker_of: Start) -> None:
    with worker_of(APP, RESEARCH_MODEL_URL=play.model.url) as worker:
        for where, what in MOMENTS:
            play.begin(where, what)
            with play.held(where, what) as let_go:
                kept, asked, runners = play.kept(), len(play.model.prompts), worker.runners
                kill_all(runners)
                let_go()
            play.finish()
            check(play, kept, asked, kills=1)
            play.nothing_is_open(worker)
            assert all(map(is_gone, runners))


@pytest.mark.timeout(400)  # it starts a worker for each of them
def test_a_worker_is_killed_within_each_call(play: Play, worker_of: Start) -> None:
    """The next one finishes the job, and is killed within a call of the job after that."""
    with ExitStack() as stack:
        settings = {"RESEARCH_MODEL_URL": play.model.url, **SHORT}
        worker = stack.enter_context(worker_of(APP, **settings))
        for where, what in MOMENTS:
            play.begin(where, what)
            with play.held(where, what) as let_go:
                kept, asked, processes = play.kept(), len(play.model.prompts), worker.tree
                worker.process.kill()
                worker.ends()
                let_go()
            worker = stack.enter_context(worker_of(APP, **settings))
            play.finish()
            check(play, kept, asked, kills=1)
            play.nothing_is_open(worker)
            eventually(
                lambda left=processes: all(map(is_gone, left)),  # type: ignore[misc]
                "nothing of the killed worker is left",
            )


@pytest.mark.timeout(240)
def test_it_is_cancelled_within_each_call(play: Play, worker_of: Start) -> None:
    with worker_of(APP, RESEARCH_MODEL_URL=play.model.url) as worker:
        for where, what in MOMENTS:
            play.begin(where, what)
            with play.held(where, what) as let_go:
                kept = play.kept()
                stop = threading.Thread(target=play.cancel)  # may wait for the row that is held
                stop.start()
                if where == "model":  # which never answers
                    eventually(lambda: play.handle.status() == "cancelled", "it is cancelled")
                let_go()
                stop.join()
            is_cancelled(play, kept, what)
            play.nothing_is_open(worker)


def is_cancelled(play: Play, kept: dict[str, StepRecord], what: str) -> None:
    # When its last step is written, it may have completed before the stop arrives.
    ends = ("cancelled", "completed") if what == "publish" else ("cancelled",)
    eventually(lambda: play.handle.status() in ends, f"it is cancelled at {what}")
    assert play.store.cancellation(play.stop_id).completed_at is not None
    now = play.kept()
    assert {name: now[name] for name in kept} == kept
    assert play.model.billed <= play.handle.job().spent.get("tokens", 0) <= BUDGET
    assert len(play.model.prompts) <= len(PROMPTS)
    assert play.folder.exists() == (what == "publish")
