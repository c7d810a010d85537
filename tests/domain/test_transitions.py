"""The life of a job is a table."""

from itertools import pairwise, product

import pytest

from tenure.domain.lifecycle import (
    ENDED,
    TRANSITIONS,
    Intent,
    Rung,
    State,
    Status,
    Verb,
    after,
    diagram,
    verbs_of,
)
from tenure.errors import IllegalTransition


@pytest.mark.parametrize(("state", "verb"), list(product(State, Verb)))
def test_a_verb_follows_the_table_or_is_refused(state: State, verb: Verb) -> None:
    if (state, verb) in TRANSITIONS:
        assert after(state, verb) == TRANSITIONS[state, verb]
        assert verb in verbs_of(state)
    else:
        with pytest.raises(IllegalTransition) as refusal:
            after(state, verb)
        assert str(refusal.value) == f"cannot {verb} a job that is {state}"
        assert verb not in verbs_of(state)


def test_a_refused_verb_reads_as_a_sentence() -> None:
    with pytest.raises(IllegalTransition, match=r"^cannot cancel a job that is completed$"):
        after(State.COMPLETED, Verb.CANCEL)


def test_no_verb_leaves_a_job_where_it_was() -> None:
    assert all(start != end for (start, _), end in TRANSITIONS.items())


def test_nothing_leaves_completed_or_cancelled() -> None:
    assert verbs_of(State.COMPLETED) == ()
    assert verbs_of(State.CANCELLED) == ()


def test_a_failed_job_has_ended_and_can_still_go_on_or_be_cleared() -> None:
    assert State.FAILED in ENDED
    assert verbs_of(State.FAILED) == (Verb.RESUME, Verb.CLEAR)


def test_a_job_runs_only_by_a_claim() -> None:
    assert [verb for (_, verb), end in TRANSITIONS.items() if end == State.RUNNING] == [Verb.CLAIM]


def test_every_state_can_be_reached_and_every_job_can_end() -> None:
    reached, before = {State.PENDING}, set[State]()
    while reached != before:
        before = set(reached)
        reached |= {end for (start, _), end in TRANSITIONS.items() if start in before}
    assert reached == set(State)
    for state in set(State) - ENDED:
        assert any(after(state, verb) in ENDED for verb in verbs_of(state))


def test_every_verb_is_of_use() -> None:
    assert {verb for _, verb in TRANSITIONS} == set(Verb)


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TRANSITIONS[State.COMPLETED, Verb.RESUME] = State.PENDING  # type: ignore[index]


def test_the_diagram_shows_every_transition_once() -> None:
    heading, *lines = diagram().splitlines()
    assert heading == "stateDiagram-v2"
    shown = {}
    for line in lines:
        arrow, _, verbs = line.strip().partition(": ")
        if verbs:
            start, end = arrow.split(" --> ")
            for verb in verbs.split(", "):
                assert (start, verb) not in shown
                shown[State(start), Verb(verb)] = State(end)
    assert shown == TRANSITIONS
    assert "    [*] --> pending" in lines
    assert {f"    {state} --> [*]" for state in ENDED} < set(lines)


def test_a_later_rung_is_greater_whatever_the_alphabet_says() -> None:
    ladder = [Rung.ASKED, Rung.INTERRUPTED, Rung.TERMINATED, Rung.KILLED, Rung.EXPIRED]
    assert sorted(Rung) == ladder == list(Rung)
    for lower, higher in pairwise(ladder):
        assert lower < higher
        assert lower <= higher
        assert higher > lower
        assert higher >= lower
        assert not lower > higher
        assert not lower >= higher
    assert max(Rung.KILLED, Rung.INTERRUPTED) == Rung.KILLED


def test_an_intent_has_the_name_of_its_verb() -> None:
    assert [Verb(intent) for intent in Intent] == [Verb.CANCEL, Verb.PAUSE]


def test_every_state_is_also_a_status() -> None:
    assert {str(state) for state in State} < {str(status) for status in Status}
