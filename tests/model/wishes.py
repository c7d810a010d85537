"""What the machine asks for."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tenure.domain.job import NEVER, After, NewJob

QUEUES = ("default", "slow")
TARGETS = ("north", "south")

which = st.integers(0, 15)  # of the candidates, counted around
actors = st.sampled_from([None, "ada", "bob"])
policies = st.sampled_from(["wait", "fail", "run"])
# Far enough apart that the time an example itself takes decides nothing.
spans = st.sampled_from([timedelta(seconds=s) for s in (35, 70, 140)])

_times: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {}, {"delay": timedelta(seconds=50)}, {"run_at": NEVER}]
)
_fields: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "queue": st.sampled_from(QUEUES),
        "priority": st.sampled_from([-1, 0, 7]),
        "target": st.sampled_from(TARGETS),
        "block_on": st.sampled_from([(), ("paused",), ("failed",), ("paused", "failed")]),
        "max_attempts": st.integers(1, 3),
        "orphan": st.sampled_from(["retry", "fail"]),
        "unique": st.sampled_from(["one", "two"]),
        "when_taken": st.sampled_from(["return", "replace", "refuse"]),
        "idempotency": st.sampled_from(["first", "second", "third"]),
        "budget": st.just({"tokens": 5}),
        "limits": st.sampled_from([["api"], ["api"], ["nobody set this"]]),
    },
)
jobs = st.builds(lambda fields, time: NewJob(task="work", **fields, **time), _fields, _times)
_tops: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "unique": st.sampled_from(["one", "two"]),
        "when_taken": st.sampled_from(["return", "replace", "refuse"]),
        "budget": st.just({"tokens": 5}),
    },
)
needs = st.lists(st.tuples(which, policies), max_size=2)


@st.composite
def trees(draw: st.DrawFn) -> list[NewJob]:
    """A job without code, its tasks, some below a second one, some after one another."""
    key = draw(st.none() | st.sampled_from(["tree", "wood"]))
    if key is not None:  # the same key always means the same tree
        return [NewJob(key="top", idempotency=key), _task(0, "top"), _task(1, "top", "wait")]
    top = draw(_tops)
    parents = st.sampled_from(["top", "mid"] if draw(st.booleans()) else ["top"])
    shape = draw(st.lists(st.tuples(parents, st.none() | policies), min_size=1, max_size=3))
    tree = [NewJob(key="top", **top)]
    if any(parent == "mid" for parent, _ in shape):
        tree.append(NewJob(key="mid", parent="top"))
    for place, (parent, policy) in enumerate(shape):
        target = draw(st.none() | st.sampled_from(TARGETS))
        tree.append(_task(place, parent, policy if place else None, target))
    return tree


def _task(place: int, parent: str, policy: Any = None, target: str | None = None) -> NewJob:
    after = (After(f"t{place - 1}", policy),) if policy else ()
    return NewJob(
        task="work", key=f"t{place}", parent=parent, after=after, target=target, max_attempts=2
    )
