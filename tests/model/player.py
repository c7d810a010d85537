"""Says verbs to the store and holds every answer against the model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from tenure.domain.job import After, NewJob
from tenure.domain.lifecycle import Intent
from tenure.domain.step import WaitState
from tenure.errors import TenureError
from tenure.store.outcomes import Ending, Report, Until
from tenure.store.results import Promoted
from tests.model import granting, promoting
from tests.model.checks import check
from tests.model.model import Act, Holding, Model, ModelWorker
from tests.model.snapshot import Snapshot
from tests.model.world import World


class Player:
    """One history: a model, an emptied database, and the last that was seen of it."""

    def __init__(self, world: World) -> None:
        world.empty()
        self.world = world
        self.store = world.store
        rates = {
            unit: {"amount": n, "per": f"{granting.PER}s"} for unit, n in granting.BURST.items()
        }
        self.store.set_limit(granting.LIMIT, rates, at_once=granting.AT_ONCE)
        self.model = Model()
        self.seen = world.look()
        self.model.latest = self.seen.now
        self.broken = False  # an invariant; nothing that follows means anything

    def say(self, act: Act, call: Callable[[], Any]) -> Act:
        """Carry out an act, check what became of everything, and learn from it."""
        before = self.seen
        try:
            act = _in_order(replace(act, answer=call()))
        except TenureError as error:
            act = replace(act, error=error)
        self.seen = self.world.look()
        self.model.latest = max(self.model.latest, self.seen.now)
        self.broken = True
        check(self.model, before, act, self.seen)
        self.broken = False
        self._learn(act, self.seen)
        return act

    def _learn(self, act: Act, now: Snapshot) -> None:
        if act.verb in ("enqueue", "enqueue_many", "rerun") and act.error is None:
            self._learn_births(act)
        self.model.forget([job for job in self.model.jobs if job not in now.jobs])
        for row in now.rows:
            job = self.model.jobs[row.id]
            job.state, job.attempts = row.state, row.attempt
            job.token, job.holder, job.stop = row.token, row.worker_id, row.intent
            job.been.add(row.state)
            if row.token is not None:
                job.tokens.add(row.token)
        for life in now.lives:
            self.model.workers[life.id].dead = life.dead_at is not None
        self.model.pauses = set(now.pauses)

    def _learn_births(self, act: Act) -> None:
        answers = [act.answer] if act.verb == "rerun" else act.answer
        ids = {one.key: one.id for one in answers if getattr(one, "key", None) is not None}
        for asked, answer in zip(act.asked, answers, strict=True):
            number = answer if isinstance(answer, int) else answer.id
            if number in self.model.jobs:
                continue
            if isinstance(asked.parent, str):
                asked = _with_parent(asked, ids[asked.parent])
            needs = dict(_need(one, ids) for one in asked.after)
            self.model.born(number, asked, needs)

    def register(self, lease: timedelta, worker: UUID) -> None:
        self.model.workers[worker] = ModelWorker(worker)
        act = Act("register", worker=worker)
        self.say(act, lambda: self.store.register(worker, "host", 1, lease))

    def enqueue(self, jobs: Sequence[NewJob], by: str | None = None) -> Act:
        asked = tuple(self._with_owner(job, by) for job in jobs)
        act = Act("enqueue", asked=asked, by=by)
        return self.say(act, lambda: self.store.enqueue(jobs, by=by))

    def _with_owner(self, job: NewJob, by: str | None) -> NewJob:
        """Return the job as the model knows it: with its owner, and its keys with their owner's
        name, as they are stored."""
        above = self.model.jobs.get(job.parent) if isinstance(job.parent, int) else None
        owner = (above.asked.owner if above is not None else by) or "db:postgres"
        keys = {name: getattr(job, name) for name in ("unique", "idempotency")}
        scoped = {name: key and f"{len(owner)}:{owner}:{key}" for name, key in keys.items()}
        return _changed(job, owner=owner, **scoped)

    def promote(self) -> bool:
        """Whether there was something to do."""
        done: Promoted = self.say(Act("promote"), self.store.promote).answer
        return promoting.has_moved(done)

    def promote_all(self) -> None:
        for _ in range(60):
            if not self.promote():
                return
        raise AssertionError("promote always finds something to do")

    def claim(
        self, worker: UUID, n: int, queues: list[str] | None = None, *, floors: bool = False
    ) -> Act:
        known = self.model.workers[worker]
        start = known.floors if floors else None
        options = {"n": n, "queues": queues, "floors": start}
        act = self.say(
            Act("claim", worker=worker, options=options),
            lambda: self.store.claim(worker, n, queues=queues, floors=start),
        )
        known.floors = act.answer.floors
        self.model.holdings += [Holding(worker, job.id, job.token) for job in act.answer.jobs]
        return act

    def conclude(self, verb: str, worker: UUID, endings: Sequence[Ending]) -> Act:
        said = {ending.job: ending for ending in endings}
        method = getattr(self.store, verb)
        return self.say(
            Act(verb, worker=worker, said=said), lambda: method(worker, list(said.values()))
        )

    def report(self, worker: UUID, report: Report) -> Act:
        self.model.spend(report.job, report.spent or {})
        act = Act("report", worker=worker, said={report.job: report})
        return self.say(act, lambda: self.store.report(worker, [report]))

    def await_step(self, held: Holding, kind: str, within: int | None) -> WaitState | None:
        """Begin a wait as a runner does, or look at it; None if it was refused."""
        more: dict[str, Any] = (
            {"question": {"text": "Well?", "schema": {}}} if kind == "question" else {}
        )
        more |= {"event": "paid", "key": "7"} if kind == "event" else {}
        wait = {"name": kind, "digest": kind, "kind": kind, "within": within, **more}
        options = {"token": held.token, "name": kind, "digest": kind}
        act = Act("await_step", worker=held.worker, job=held.job, options=options)
        call = self.store.await_step
        seen = self.say(act, lambda: call(held.worker, held.job, held.token, wait))
        return None if seen.error else seen.answer

    def give_back_until(self, held: Holding, until: Until, due_at: datetime | None) -> None:
        ending = Ending(
            job=held.job, token=held.token, outcome="released", until=until, run_at=due_at
        )
        self.conclude("finish", held.worker, [ending])

    def stop(self, job: int, by: str | None = None, **options: Any) -> Act:
        options = {"intent": Intent.CANCEL, "force": False, "cascade": True, **options}
        act = Act("stop", job=job, by=by, options=options)
        return self.say(act, lambda: self.store.stop(job, by=by, **options))

    def control(self, verb: str, job: int, by: str | None = None, **options: Any) -> Act:
        """resume, clear, queue or rerun one job."""
        method = getattr(self.store, verb)
        # A rerun has the arguments of the job, and none of its ties.
        asked = (_without_ties(self.model.jobs[job].asked),) if verb == "rerun" else ()
        act = Act(verb, job=job, by=by, asked=asked, options=options)
        return self.say(act, lambda: method(job, by=by, **options))

    def recover(self, **options: Any) -> Act:
        options = {"ids": None, "dry_run": False, **options}
        return self.say(Act("recover", options=options), lambda: self.store.recover(**options))

    def set_pause(self, verb: str, subject: tuple[str, str], by: str | None = None) -> Act:
        method = getattr(self.store, verb)
        act = Act(verb, by=by, options={"subject": subject})
        return self.say(act, lambda: method(*subject, by=by))

    def of_worker(self, verb: str, worker: UUID) -> Act:
        """renew, drain or leave."""
        method = getattr(self.store, verb)
        return self.say(Act(verb, worker=worker), lambda: method(worker))

    def advance(self, by: timedelta) -> None:
        self.say(Act("advance"), lambda: self.world.advance(by))

    def set_back(self, by: timedelta) -> None:
        self.say(Act("set_back"), lambda: self.world.set_back(by))

    def current(self) -> list[Holding]:
        return [
            one
            for one in self.model.holdings
            if self.model.is_current(one.worker, one.job, one.token)
        ]


def _in_order(act: Act) -> Act:
    """Whole trees are answered in the order in which they were written; keys say which is which."""
    if act.verb != "enqueue" or len(act.asked) == 1:
        return act
    by_key = {asked.key: asked for asked in act.asked}
    return replace(act, asked=tuple(by_key[answer.key] for answer in act.answer))


def _need(need: int | str | After, ids: Mapping[str, int]) -> tuple[int, str]:
    name, policy = (need.job, need.policy) if isinstance(need, After) else (need, "wait")
    return (ids[name] if isinstance(name, str) else name), policy


def _with_parent(asked: NewJob, parent: int) -> NewJob:
    return _changed(asked, parent=parent)


def _without_ties(asked: NewJob) -> NewJob:
    return _changed(asked, parent=None, after=(), unique=None, idempotency=None, delay=None)


def _changed(asked: NewJob, **fields: Any) -> NewJob:
    return msgspec.structs.replace(asked, **fields)
