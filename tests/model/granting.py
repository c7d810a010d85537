"""I13: no window has more grants than its limit allows. I14: no budget is reserved twice.

Both are judged from the grants alone. The clock may be set back and catch up: what it shows again
is no time in which a limit refills, so a window lasts as long as the clock goes beyond all that it
has shown.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tenure.domain.lifecycle import State
from tests.model.model import Act, Model
from tests.model.snapshot import Reserved, Snapshot, Spending
from tests.model.violations import require

LIMIT = "api"
# Wide enough for a few grants, narrow enough that most examples come to its end.
AT_ONCE = 2
BURST = {"calls": 3, "tokens": 10}
PER = 60  # seconds in which a burst is refilled
_EXACT = 1e-6


@dataclass(frozen=True)
class Taken:
    """An amount taken from the limit, or returned to it, when the clock had shown this much."""

    since: datetime  # at least
    until: datetime  # at most
    amounts: Mapping[str, float]


def check(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    _in_use(after)
    _note(model, before, act, after)
    for unit, burst in BURST.items():
        total = 0.0
        for taken in reversed(model.taken):
            total += taken.amounts.get(unit, 0)
            seconds = (model.latest - taken.since).total_seconds()
            allowed = burst + burst * seconds / PER
            require(total <= allowed + _EXACT, "I13", f"{total} {unit} within {seconds} s")
    _charge(model, before, act, after)
    _budgets(model, before, act, after)


def has_to_wait(model: Model, now: Snapshot) -> bool:
    """Tell whether the limit has no room for one more job, those included that were called."""
    called = sum(row.ready for row in now.rows if LIMIT in (row.limits or ()))
    is_full = len(now.grants) + called >= AT_ONCE
    return is_full or bool(now.closures) or _left(model, now) < 1 + called + _EXACT


def _left(model: Model, now: Snapshot) -> float:
    """Return how many calls are left, if everything was taken as late as it can have been."""
    level, since = float(BURST["calls"]), None
    for taken in model.taken:
        level = _filled(level, since, taken.until) - taken.amounts.get("calls", 0)
        since = taken.until
    return _filled(level, since, max(now.now, since or now.now))


def _filled(level: float, since: datetime | None, until: datetime) -> float:
    seconds = 0.0 if since is None else (until - since).total_seconds()
    return min(BURST["calls"], level + BURST["calls"] * seconds / PER)


def _in_use(now: Snapshot) -> None:
    require(len(now.grants) <= AT_ONCE, "I13", f"{len(now.grants)} grants are in use at once")
    for grant in now.grants:
        runs = now.jobs[grant.job_id].state is State.RUNNING
        require(runs, "I13", f"job {grant.job_id} does not run and has a grant")
    for held in now.reserved:
        runs = now.jobs[held.holder_id].state is State.RUNNING
        require(runs, "I14", f"job {held.holder_id} does not run and has reserved something")


def _note(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    known = {(grant.job_id, grant.number): grant for grant in before.grants}
    for grant in after.grants:
        if (grant.job_id, grant.number) not in known:
            _take(model, before, grant.amounts)
    if act.verb == "report":
        for job, said in act.said.items():
            for settled in said.settled if job in act.answer.accepted else ():
                held = known.get((job, settled["number"]))
                if held is not None and "used" in settled:
                    back = held.amounts.get("tokens", 0) - settled["used"]["tokens"]
                    _take(model, before, {"tokens": -back})


def _take(model: Model, before: Snapshot, amounts: Mapping[str, float]) -> None:
    since = max(before.now, model.taken[-1].since) if model.taken else before.now
    model.taken.append(Taken(since, model.latest, amounts))


def _charge(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """A reservation that ended with its attempt, and that nobody settled, is spent."""
    settled = {
        (job, news["number"])
        for job, said in (act.said.items() if act.verb == "report" else ())
        for news in said.settled
    }
    kept = {(held.holder_id, held.number) for held in after.reserved}
    for held in before.reserved:
        if (held.holder_id, held.number) not in settled | kept:
            spent = model.spent.get((held.job_id, held.unit), 0)
            model.spent[held.job_id, held.unit] = spent + held.amount


def _budgets(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """Check that spending and reservations exceed a budget only by unreserved spending."""
    spends = act.verb == "report" and any(said.spent for said in act.said.values())
    was, now = _committed(before), _committed(after)
    for job, known in model.jobs.items():
        for unit, limit in (known.asked.budget or {}).items():
            total = now[job, unit]
            fits = total <= max(float(limit), was[job, unit])
            require(spends or fits, "I14", f"{total} {unit} of job {job} are spent or reserved")


def _committed(now: Snapshot) -> Mapping[tuple[int, str], float]:
    total: dict[tuple[int, str], float] = defaultdict(float)
    rows: tuple[Spending | Reserved, ...] = (*now.spending, *now.reserved)
    for row in rows:
        total[row.job_id, row.unit] += row.amount
    return total
