"""Every field of a job has the same bounds at every door."""

import pytest

from tenure.domain.bounds import JOB, OPTIONS, Names
from tests.bounds.doors import JOB_DOORS, Doors, Refusal
from tests.bounds.edges import beyond, within

# Inside other fields, or of which there is no field: test_parts_of_jobs.py.
PARTS = ("unit", "amount", "budget", "after", "options")
FIELDS = [name for name in (*JOB, *OPTIONS) if name not in PARTS and not name.startswith("retry_")]


@pytest.mark.parametrize("door", JOB_DOORS)
@pytest.mark.parametrize("field", FIELDS)
def test_a_door_takes_the_edges_of_a_field(doors: Doors, field: str, door: str) -> None:
    bound = {**JOB, **OPTIONS}[field]
    if field == "pools":
        assert isinstance(bound, Names)
        for pool in [name for names in within(bound) for name in names]:
            doors.store.create_pool(pool)
    for value in within(bound):
        try:
            JOB_DOORS[door](doors, field, value)
        except NotImplementedError:
            continue
        except Refusal as refusal:
            pytest.fail(f"{str(value)[:100]!r}: {refusal}")


@pytest.mark.parametrize("door", JOB_DOORS)
@pytest.mark.parametrize("field", FIELDS)
def test_a_door_refuses_what_lies_beyond_a_field(doors: Doors, field: str, door: str) -> None:
    for value in beyond({**JOB, **OPTIONS}[field]):
        try:
            JOB_DOORS[door](doors, field, value)
        except NotImplementedError:
            continue
        except Refusal as refusal:
            sentence = str(refusal)
        else:
            pytest.fail(f"{str(value)[:100]!r} is taken")
        assert len(sentence.split()) > 3, f"{str(value)[:100]!r}: {sentence}"
        assert len(sentence) < 2000, f"{str(value)[:100]!r}: it repeats what was given"
    assert doors.store.list_jobs() == (), "and nothing is left of it"
