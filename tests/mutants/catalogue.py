"""All mutants."""

from collections.abc import Sequence

from tests.mutants.agents import AGENTS
from tests.mutants.batches import BATCHES
from tests.mutants.bounds import BOUNDS
from tests.mutants.claims import CLAIMS
from tests.mutants.deaths import DEATHS
from tests.mutants.djangos import DJANGO
from tests.mutants.entrance import ENTRANCE
from tests.mutants.entry import ENTRY
from tests.mutants.fences import FENCES
from tests.mutants.fleets import FLEETS
from tests.mutants.inspections import INSPECTIONS
from tests.mutants.limits import LIMITS
from tests.mutants.mutant import Mutant
from tests.mutants.promotion import PROMOTION
from tests.mutants.reach import REACH
from tests.mutants.records import RECORDS
from tests.mutants.requests import REQUESTS
from tests.mutants.rights import RIGHTS
from tests.mutants.rollups import ROLLUPS
from tests.mutants.rules import RULES
from tests.mutants.runtime import RUNTIME
from tests.mutants.steps import STEPS
from tests.mutants.stops import STOPS
from tests.mutants.streams import STREAMS
from tests.mutants.suspects import SUSPECTS
from tests.mutants.tasks import TASKS
from tests.mutants.testing import TESTING
from tests.mutants.web import WEB
from tests.mutants.webhooks import WEBHOOKS

MUTANTS: tuple[Mutant, ...] = (
    *FENCES,
    *CLAIMS,
    *LIMITS,
    *REQUESTS,
    *WEBHOOKS,
    *DEATHS,
    *SUSPECTS,
    *TASKS,
    *STOPS,
    *PROMOTION,
    *ENTRANCE,
    *BOUNDS,
    *RECORDS,
    *RIGHTS,
    *REACH,
    *RULES,
    *ROLLUPS,
    *INSPECTIONS,
    *FLEETS,
    *RUNTIME,
    *STREAMS,
    *BATCHES,
    *STEPS,
    *ENTRY,
    *AGENTS,
    *TESTING,
    *WEB,
    *DJANGO,
)


def part_of(mutants: Sequence[Mutant], part: int, parts: int) -> list[Mutant]:
    """Return every mutant of one part; neighbours, which take equally long, are in several."""
    return list(mutants[part - 1 :: parts])
