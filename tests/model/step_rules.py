"""The rules that step, wait, answer and publish, as runners and users do."""

import json
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tenure.store.outcomes import Report, Until
from tests.model.model import Act, Holding
from tests.model.player import Player
from tests.model.wishes import actors, which

_WAITS: dict[str, Until] = {"question": "answer", "event": "event", "sleep": "time"}


class StepRules(RuleBasedStateMachine):
    play: Player

    @precondition(lambda self: self.play.current())
    @rule(
        held=which, name=st.sampled_from(["plan", "draft"]), digest=st.sampled_from("ab"),
        emits=st.booleans(),
    )  # fmt: skip
    def step(self, held: int, name: str, digest: str, emits: bool) -> None:
        """Do as a runner does: what is kept under this digest is not run again."""
        one = _one(self.play.current(), held)
        kept = self.play.store.kept_steps(one.worker, one.job, one.token).steps
        if any((each.name, each.digest) == (name, digest) for each in kept):
            return
        row: Any = {"name": name, "digest": digest, "value": one.token, "attempts": 1, "took": 1}
        more: Any = {"partials": ["in it"], "partial_steps": [name]} if emits else {}
        self.play.report(one.worker, Report(job=one.job, token=one.token, steps=[row], **more))

    @precondition(lambda self: self.play.model.holdings)
    @rule(held=which, name=st.sampled_from(["plan", "draft"]))
    def step_late(self, held: int, name: str) -> None:
        """With the token of any claim; the fence has to tell."""
        one = _one(self.play.model.holdings[::-1], held)
        if one in self.play.current():
            return
        row: Any = {"name": name, "digest": "late", "value": "late", "attempts": 1, "took": 1}
        self.play.report(one.worker, Report(job=one.job, token=one.token, steps=[row]))

    @precondition(lambda self: self.play.current())
    @rule(
        held=which, kind=st.sampled_from(["question", "event", "sleep"]),
        within=st.sampled_from([None, 40, 400]), gives_back=st.booleans(),
    )  # fmt: skip
    def wait(self, held: int, kind: str, within: int | None, gives_back: bool) -> None:
        one = _one(self.play.current(), held)
        within = within or (40 if kind == "sleep" else None)
        seen = self.play.await_step(one, kind, within)
        if gives_back and seen is not None and seen.state == "open":
            self.play.give_back_until(one, _WAITS[kind], seen.due_at)

    @precondition(lambda self: self.play.model.holdings)
    @rule(held=which)
    def wait_late(self, held: int) -> None:
        self.play.await_step(_one(self.play.model.holdings[::-1], held), "question", None)

    @precondition(lambda self: any(step.question_id for step in self.play.seen.steps.values()))
    @rule(which_=which, by=actors)
    def answer(self, which_: int, by: str | None) -> None:
        asked = sorted(step.job_id for step in self.play.seen.steps.values() if step.question_id)
        job = asked[which_ % len(asked)]
        act = Act("answer", job=job, by=by)
        self.play.say(act, lambda: self.play.store.answer(job, json.dumps({"ok": True}), by=by))

    @rule(keep=st.sampled_from([30, 3000]))
    def publish(self, keep: int) -> None:
        kept = timedelta(seconds=keep)
        self.play.say(Act("publish"), lambda: self.play.store.publish("paid", "7", "5", keep=kept))


def _one(holdings: list[Holding], index: int) -> Holding:
    return holdings[index % len(holdings)]
