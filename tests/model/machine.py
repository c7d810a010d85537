"""Any order of verbs, several workers, a moving clock."""

from datetime import timedelta
from typing import Any, ClassVar, Literal, TypeVar, cast
from uuid import UUID

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from tenure.domain.job import After, NewJob
from tenure.domain.lifecycle import Intent, Reason, Rung, State
from tenure.store.outcomes import Ending, Report
from tests.model import liveness, wishes
from tests.model.limit_rules import LimitRules
from tests.model.model import Act, Holding
from tests.model.player import Player
from tests.model.step_rules import StepRules
from tests.model.wishes import QUEUES, TARGETS, actors, which
from tests.model.world import World

T = TypeVar("T")

_endings = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(["completed", "failed", "retry", "stopped", "released"]),
        "heard": st.booleans(),
        "value": st.none() | st.just({"answer": 42}),
    },
    optional={
        "intent": st.sampled_from([Intent.CANCEL, Intent.PAUSE]),
        "until": st.sampled_from(["children", "event", "answer"]),
        "rung": st.sampled_from([Rung.ASKED, Rung.KILLED]),
    },
)
_subjects = st.sampled_from(
    [("tenant", "")] + [("queue", name) for name in QUEUES] + [("target", name) for name in TARGETS]
)
_verbs = st.sampled_from(["finish", "crash", "release", "report"])
_leases = st.sampled_from([timedelta(seconds=60), timedelta(seconds=100)])


class Machine(StepRules, LimitRules):
    world: ClassVar[World]

    def __init__(self) -> None:
        super().__init__()
        self.play = Player(self.world)
        self._workers = 0

    def teardown(self) -> None:
        if not self.play.broken:
            liveness.check(self.play)

    @initialize(
        leases=st.tuples(_leases, _leases),
        jobs=st.lists(wishes.jobs, max_size=2),
        tree=wishes.trees(),
    )
    def start(
        self, leases: tuple[timedelta, timedelta], jobs: list[NewJob], tree: list[NewJob]
    ) -> None:
        for lease in leases:
            self._register(lease)
        for job in jobs:
            self.play.enqueue([job])
        self.play.enqueue(tree)

    # -- jobs come in

    @rule(job=wishes.jobs, by=actors)
    def enqueue(self, job: NewJob, by: str | None) -> None:
        self.play.enqueue([job], by)

    @precondition(lambda self: self.play.model.jobs)
    @rule(
        wish=wishes.jobs, parent=st.none() | which, needs=wishes.needs, by=actors,
    )  # fmt: skip
    def enqueue_tied(
        self, wish: NewJob, parent: int | None, needs: list[tuple[int, Any]], by: str | None
    ) -> None:
        """Below a job, and after others."""
        jobs = list(self.play.model.jobs)
        policies = {_pick(jobs, index): policy for index, policy in needs}
        after = tuple(After(job, policy) for job, policy in policies.items())
        above = None if parent is None else _pick(jobs, parent)
        self.play.enqueue([msgspec.structs.replace(wish, parent=above, after=after)], by)

    @rule(tree=wishes.trees(), by=actors)
    def enqueue_tree(self, tree: list[NewJob], by: str | None) -> None:
        self.play.enqueue(tree, by)

    @rule(n=st.integers(1, 3), priority=st.sampled_from([0, 7]))
    def enqueue_many(self, n: int, priority: int) -> None:
        job = NewJob(task="work", priority=priority)
        act = Act("enqueue_many", asked=(job,) * n)
        self.play.say(act, lambda: self.play.store.enqueue_many(job, [{}] * n))

    @rule(once=st.booleans())
    def promote(self, once: bool) -> None:
        if once:
            self.play.promote()
        else:
            self.play.promote_all()

    # -- workers

    @rule(
        who=which, n=st.integers(1, 3), floors=st.booleans(),
        queues=st.sampled_from([None, None, ["default"], ["slow"]]), first=st.booleans(),
    )  # fmt: skip
    def claim(self, who: int, n: int, floors: bool, queues: list[str] | None, first: bool) -> None:
        if first:
            self.play.promote_all()
        worker = self._living(who) if first else self._worker(who)
        self.play.claim(worker, n, queues, floors=floors)

    @rule(who=which, n=st.integers(1, 3), ending=_endings)
    def work(self, who: int, n: int, ending: dict[str, Any]) -> None:
        """Claim, and end one of what was claimed."""
        self.play.promote_all()
        worker = self._living(who)
        jobs = self.play.claim(worker, n).answer.jobs
        if jobs:
            one = Holding(worker, jobs[0].id, jobs[0].token)
            self.play.conclude("finish", worker, [_ending(one, ending)])

    @rule(
        who=which, lease=_leases,
        verb=st.sampled_from(["renew", "renew", "renew", "register", "leave", "drain"]),
    )  # fmt: skip
    def come_and_go(self, who: int, verb: str, lease: timedelta) -> None:
        if verb == "register":
            self._register(lease)
        elif verb == "renew":
            self.play.of_worker(verb, self._worker(who))
        else:
            self.play.of_worker(verb, self._living(who))

    @precondition(lambda self: self.play.current())
    @rule(held=which, ending=_endings, all_of_it=st.booleans(), delay=st.booleans())
    def finish(self, held: int, ending: dict[str, Any], all_of_it: bool, delay: bool) -> None:
        """Act as a holder: on one of its jobs, or on all of them."""
        first = _pick(self.play.current(), held)
        chosen = [one for one in self.play.current() if one.worker == first.worker]
        if ending["outcome"] == "retry" and delay:
            ending = {**ending, "run_at": self.play.seen.now + timedelta(seconds=50)}
        endings = [_ending(one, ending) for one in (chosen if all_of_it else [first])]
        self.play.conclude("finish", first.worker, endings)

    @precondition(lambda self: self.play.current())
    @rule(held=which, value=st.just({"answer": 42}), heard=st.booleans())
    def complete(self, held: int, value: Any, heard: bool) -> None:
        one = _pick(self.play.current(), held)
        ending = _ending(one, {"outcome": "completed", "value": value, "heard": heard})
        self.play.conclude("finish", one.worker, [ending])

    @precondition(lambda self: self.play.current())
    @rule(held=which, verb=st.sampled_from(["crash", "release"]))
    def give_back(self, held: int, verb: str) -> None:
        one = _pick(self.play.current(), held)
        self.play.conclude(verb, one.worker, [_ending(one, {})])

    @precondition(lambda self: self.play.model.holdings)
    @rule(held=which, verb=_verbs, ending=_endings)
    def speak_late(self, held: int, verb: str, ending: dict[str, Any]) -> None:
        """With the token of any claim, whether it still counts or not."""
        one = _pick(self.play.model.holdings[::-1], held)
        self._speak(one.worker, verb, one, ending)

    @precondition(lambda self: self.play.current())
    @rule(held=which, verb=_verbs, ending=_endings, who=which)
    def speak_for_another(self, held: int, verb: str, ending: dict[str, Any], who: int) -> None:
        """With a token that counts, but not from this worker."""
        one = _pick(self.play.current(), held)
        others = [worker for worker in self._all_living() if worker != one.worker]
        self._speak(_pick(others, who), verb, one, ending)

    @precondition(lambda self: self.play.current())
    @rule(held=which, verb=_verbs, ending=_endings)
    def leave_and_speak(self, held: int, verb: str, ending: dict[str, Any]) -> None:
        """A worker that is dead, of a job that nobody has recovered yet."""
        one = _pick(self.play.current(), held)
        self.play.of_worker("leave", one.worker)
        self._speak(one.worker, verb, one, ending)

    @precondition(lambda self: self.play.current())
    @rule(held=which, verb=_verbs, ending=_endings, back=st.sampled_from(["crash", "release"]))
    def speak_of_an_earlier_attempt(
        self, held: int, verb: str, ending: dict[str, Any], back: str
    ) -> None:
        """The same worker may have the same job again, under another token."""
        one = _pick(self.play.current(), held)
        self.play.conclude(back, one.worker, [_ending(one, {})])
        self.play.promote_all()
        self.play.claim(one.worker, 10)
        self._speak(one.worker, verb, one, ending)

    @precondition(lambda self: self.play.model.holdings)
    @rule(
        held=which, late=st.booleans(), tokens=st.none() | st.integers(1, 6),
        partials=st.integers(0, 2), checkpoint=st.none() | st.integers(1, 3),
    )  # fmt: skip
    def report(
        self, held: int, late: bool, tokens: int | None, partials: int, checkpoint: int | None
    ) -> None:
        one = _pick((not late and self.play.current()) or self.play.model.holdings, held)
        spent = {} if tokens is None else {"tokens": float(tokens)}
        self.play.report(one.worker, Report(
            job=one.job, token=one.token, spent=spent, partials=["part"] * partials,
            checkpoint=checkpoint))  # fmt: skip

    # -- people

    @precondition(lambda self: self.play.model.jobs)
    @rule(
        job=which, intent=st.sampled_from(list(Intent)), force=st.booleans(),
        cascade=st.booleans(), by=actors,
    )  # fmt: skip
    def stop(self, job: int, intent: Intent, force: bool, cascade: bool, by: str | None) -> None:
        open_jobs = self._in(State.PENDING, State.RUNNING, State.PAUSED)
        chosen = _pick(open_jobs or list(self.play.model.jobs), job)
        self.play.stop(chosen, by, intent=intent, force=force, cascade=cascade)

    @precondition(lambda self: self._running())
    @rule(job=which, intent=st.sampled_from(list(Intent)), force=st.booleans(), up=st.booleans())
    def stop_running(self, job: int, intent: Intent, force: bool, up: bool) -> None:
        """Something that runs, or what it is a part of."""
        chosen = _pick(self._running(), job)
        parent = self.play.model.jobs[chosen].parent
        self.play.stop(parent if up and parent else chosen, intent=intent, force=force)

    @precondition(lambda self: self._in_line())
    @rule(job=which)
    def pause_in_line(self, job: int) -> None:
        """It never had its target, and closes it all the same."""
        self.play.stop(_pick(self._in_line(), job), intent=Intent.PAUSE)

    @precondition(lambda self: self._in(State.PAUSED, State.FAILED))
    @rule(job=which, fresh=st.booleans(), by=actors)
    def resume(self, job: int, fresh: bool, by: str | None) -> None:
        chosen = _pick(self._in(State.PAUSED, State.FAILED), job)
        self.play.control("resume", chosen, by, fresh=fresh)

    @precondition(lambda self: self.play.model.jobs)
    @rule(job=which, verb=st.sampled_from(["resume", "clear", "rerun", "queue"]), by=actors)
    def control(self, job: int, verb: str, by: str | None) -> None:
        self.play.control(verb, _pick(list(self.play.model.jobs), job), by)

    @precondition(lambda self: self._in(State.FAILED))
    @rule(job=which, name=st.none() | st.sampled_from(TARGETS), by=actors)
    def clear(self, job: int, name: str | None, by: str | None) -> None:
        if name is None:
            self.play.control("clear", _pick(self._in(State.FAILED), job), by)
        else:
            act = Act("clear", by=by, options={"target": name})
            self.play.say(act, lambda: self.play.store.clear(target=name, by=by))

    @rule(subject=_subjects, by=actors)
    def pause_dispatch(self, subject: tuple[str, str], by: str | None) -> None:
        self.play.set_pause("pause_dispatch", subject, by)

    @precondition(lambda self: self.play.model.pauses)
    @rule(index=which, by=actors)
    def resume_dispatch(self, index: int, by: str | None) -> None:
        self.play.set_pause("resume_dispatch", _pick(sorted(self.play.model.pauses), index), by)

    # -- time passes

    @rule(by=wishes.spans)
    def advance(self, by: timedelta) -> None:
        self.play.advance(by)

    @rule(by=st.sampled_from([timedelta(seconds=s) for s in (10, 25, 45)]), again=st.booleans())
    def set_back(self, by: timedelta, again: bool) -> None:
        """As after a correction, or a failover to a host that is behind; perhaps it catches up."""
        behind = self.play.model.latest - self.play.seen.now
        if behind + by > timedelta(seconds=55):  # further back, a limit refills for repeated time
            return
        self.play.set_back(by)
        if again:
            self.play.advance(by)

    @rule(dry_run=st.booleans(), only=st.none() | which, pending=st.booleans())
    def recover(self, dry_run: bool, only: int | None, pending: bool) -> None:
        running = self._running()
        jobs = None if only is None or not running else [_pick(running, only)]
        after = timedelta(seconds=120) if pending else None
        self.play.recover(dry_run=dry_run, ids=jobs, pending_after=after)

    @precondition(lambda self: self._running())
    @rule(renewing=which)
    def outlive(self, renewing: int) -> None:
        """Time goes by in steps, sweeps look, and one worker at most keeps beating."""
        for _ in range(4):
            self.play.advance(timedelta(seconds=35))
            self.play.of_worker("renew", self._worker(renewing))
            self.play.recover()

    @precondition(lambda self: self._in(State.COMPLETED, State.CANCELLED))
    @rule(failed=st.booleans())
    def prune(self, failed: bool) -> None:
        states = (State.COMPLETED, State.CANCELLED, *([State.FAILED] if failed else []))
        keep = dict.fromkeys(states, timedelta(seconds=60))
        self.play.say(Act("prune"), lambda: self.play.store.prune(keep))

    def _speak(self, worker: UUID, verb: str, held: Holding, ending: dict[str, Any]) -> None:
        if verb == "report":
            report = Report(job=held.job, token=held.token, partials=["late"], checkpoint=9)
            self.play.report(worker, report)
        else:
            self.play.conclude(verb, worker, [_ending(held, ending if verb == "finish" else {})])

    def _register(self, lease: timedelta) -> None:
        self._workers += 1
        self.play.register(lease, UUID(int=self._workers))

    def _all_living(self) -> list[UUID]:
        """The workers that may claim; there are always two of them."""
        now = self.play.seen
        living = [
            one.id
            for one in now.lives
            if one.draining_at is None and one.dead_at is None and one.expires_at > now.now
        ]
        while len(living) < 2:
            self._register(timedelta(seconds=60))
            living.append(UUID(int=self._workers))
        return sorted(living)

    def _living(self, index: int) -> UUID:
        return _pick(self._all_living(), index)

    def _in_line(self) -> list[int]:
        return [row.id for row in self.play.seen.rows if row.waiting is Reason.TARGET]

    def _worker(self, index: int) -> UUID:
        return _pick(sorted(self.play.model.workers), index)

    def _in(self, *states: State) -> list[int]:
        return [number for number, job in self.play.model.jobs.items() if job.state in states]

    def _running(self) -> list[int]:
        return self._in(State.RUNNING)


def _pick(candidates: list[T], index: int) -> T:
    return candidates[index % len(candidates)]


def _ending(held: Holding, fields: dict[str, Any]) -> Ending:
    outcome = cast(Literal["completed"] | None, fields.get("outcome"))
    error = {"type": "ValueError", "message": "no"} if outcome in ("failed", "retry") else None
    rest = {name: value for name, value in fields.items() if name != "outcome"}
    return Ending(job=held.job, token=held.token, outcome=outcome, error=error, **rest)
