"""The rules that ask for grants and reservations, and settle them, as running jobs do."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tenure.store.outcomes import Report
from tests.model.granting import LIMIT
from tests.model.model import Holding
from tests.model.player import Player
from tests.model.wishes import which


@dataclass(frozen=True)
class Asked:
    """A grant or a reservation that a job was given."""

    holder: Holding
    number: int
    amount: float


class LimitRules(RuleBasedStateMachine):
    play: Player

    def __init__(self) -> None:
        super().__init__()
        self._granted: list[Asked] = []
        self._reserved: list[Asked] = []
        self._asked = 0

    @precondition(lambda self: self.play.current())
    @rule(held=which, tokens=st.sampled_from([0, 4, 10]))
    def grant(self, held: int, tokens: int) -> None:
        wanted = {"limit": LIMIT, "amounts": {"tokens": tokens}}
        self._ask(self.play.current(), held, wanted, tokens, self._granted)

    @precondition(lambda self: self.play.current())
    @rule(held=which)
    def use_up_while_the_clock_turns(self, held: int) -> None:
        """Take and settle what there is, before the clock is set back, while it is, and after."""
        turn = timedelta(seconds=45)
        if self.play.model.latest - self.play.seen.now > timedelta(seconds=5):
            return
        for _ in range(2):
            self._take_and_settle(held)
        self._ask(self.play.current(), held, {"limit": LIMIT}, 0, self._granted)
        self.play.set_back(turn)
        self._take_and_settle(held, again=True)
        self.play.advance(turn)
        for _ in range(4):
            self._take_and_settle(held)

    def _take_and_settle(self, held: int, again: bool = False) -> None:
        wanted: Any = {"limit": LIMIT}
        before = len(self._granted)
        if not again:
            self._ask(self.play.current(), held, wanted, 0, self._granted)
        if len(self._granted) > before or (again and self._granted):
            self._settle(self._granted[-1], {"used": {"tokens": 0.0}}, {})

    @precondition(lambda self: self.play.current())
    @rule(held=which, tokens=st.integers(1, 4))
    def reserve(self, held: int, tokens: int) -> None:
        self._ask(
            self.play.current(), held, {"reserve": {"tokens": tokens}}, tokens, self._reserved
        )

    @precondition(lambda self: self.play.model.holdings)
    @rule(held=which, reserves=st.booleans())
    def ask_late(self, held: int, reserves: bool) -> None:
        """With the token of any claim; the fence has to tell."""
        wanted: Any = {"reserve": {"tokens": 1}} if reserves else {"limit": LIMIT}
        given = self._reserved if reserves else self._granted
        self._ask(self.play.model.holdings[::-1], held, wanted, 1, given)

    @precondition(lambda self: self._granted)
    @rule(chosen=which, part=st.sampled_from([0.0, 0.5, 1.0]), closes=st.booleans())
    def settle_grant(self, chosen: int, part: float, closes: bool) -> None:
        """Say what was used, in time or late; or that the other side refuses for a while."""
        one = self._granted[chosen % len(self._granted)]
        news: dict[str, Any] = {"used": {"tokens": one.amount * part}}
        self._settle(one, {"retry_after": 40} if closes else news, {})

    @precondition(lambda self: self._reserved)
    @rule(chosen=which, part=st.sampled_from([0.0, 0.5, 1.0]))
    def settle_reservation(self, chosen: int, part: float) -> None:
        one = self._reserved.pop(chosen % len(self._reserved))
        used = {"tokens": one.amount * part}
        if one.holder in self.play.current():
            self._settle(one, {"used": used}, used)

    def _ask(
        self, holdings: list[Holding], held: int, wanted: Any, amount: float, given: list[Asked]
    ) -> None:
        one = holdings[held % len(holdings)]
        self._asked += 1
        asks: list[Any] = [{"number": self._asked, **wanted}]
        act = self.play.report(one.worker, Report(job=one.job, token=one.token, asks=asks))
        answer = act.answer.answered.get(str(one.job), {}).get(str(self._asked))
        if answer is not None and answer.granted:
            given.append(Asked(one, self._asked, amount))

    def _settle(self, asked: Asked, news: Any, spent: dict[str, float]) -> None:
        one = asked.holder
        settled: list[Any] = [{"number": asked.number, **news}]
        report = Report(job=one.job, token=one.token, settled=settled, spent=spent)
        self.play.report(one.worker, report)
