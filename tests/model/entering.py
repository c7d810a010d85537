"""What enqueue has to answer: keys, parents and refusals."""

from tenure.domain.lifecycle import State
from tenure.errors import IllegalTransition, KeyTaken
from tests.model.model import Act, Model
from tests.model.snapshot import Snapshot
from tests.model.violations import require


def replaced(model: Model, act: Act) -> list[int]:
    """The jobs that gave way to a newer one with the same unique key."""
    return [
        holder
        for asked, answer in zip(act.asked, act.answer, strict=True)
        if answer.created and (holder := model.live_holder(asked.unique)) is not None
    ]


def _must_give_way(before: Snapshot, holder: int) -> bool:
    """Whatever has not begun is replaced; of a whole tree, all or nothing."""
    row = before.jobs[holder]
    untouched = row.attempt == 0 and row.stop_id is None
    return row.state is State.PENDING and untouched and not row.waits_for_family


def refused(model: Model, before: Snapshot, act: Act) -> None:
    """I10: a key that is taken is answered, not refused; a parent that is over refuses children."""
    first = act.asked[0]
    known = first.idempotency in model.keys
    holder = model.live_holder(first.unique)
    if isinstance(act.error, KeyTaken):
        ok = holder is not None and first.when_taken == "refuse" and not known
    elif isinstance(act.error, IllegalTransition):
        parent = before.jobs.get(first.parent) if isinstance(first.parent, int) else None
        ok = (
            parent is not None
            and not known
            and (parent.stop_id is not None or parent.state not in (State.PENDING, State.RUNNING))
        )
    else:  # a cycle
        ok = first.parent is not None and bool(first.after)
    require(ok, "I10", f"enqueue was refused: {act.error}")


def check(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    gave_way = replaced(model, act)
    for asked, answer in zip(act.asked, act.answer, strict=True):
        holder = model.live_holder(asked.unique)
        if asked.idempotency in model.keys:
            want: int | None = model.keys[asked.idempotency or ""]
        elif holder is not None and holder not in gave_way:
            want = holder
        else:
            want = None
        if isinstance(asked.parent, str):
            top = act.answer[0]
            if not top.created:  # its tasks are known by their keys; for one it has not it stands
                mother = answer_of(act, asked.parent)
                found = {mother, *(row.id for row in after.children(mother))}
                require(answer.id in found, "I10", f"{asked.key} of a known tree is {answer.id}")
                continue
        if holder is not None and asked.when_taken == "replace":
            stays = holder not in gave_way and asked.idempotency not in model.keys
            wrong = stays and _must_give_way(before, holder)
            require(not wrong, "I10", f"job {holder} was not replaced")
        require(answer.created == (want is None), "I10", f"created: {answer.created}")
        require(want in (None, answer.id), "I10", f"the key is job {want}'s, not {answer.id}'s")
    for asked in act.asked:
        asked_for = asked.when_taken == "replace" or model.live_holder(asked.unique) not in gave_way
        require(asked_for, "I10", f"{gave_way} were replaced, but nobody asked for it")
    for job in gave_way:
        row = after.jobs[job]
        require(row.state is State.CANCELLED, "I10", f"job {job} was replaced and is {row.state}")


def answer_of(act: Act, key: str) -> int:
    return next(int(answer.id) for answer in act.answer if answer.key == key)
