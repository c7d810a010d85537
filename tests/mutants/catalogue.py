"""All mutants."""

from collections.abc import Sequence

from tests.mutants.batches import BATCHES
from tests.mutants.bounds import BOUNDS
from tests.mutants.claims import CLAIMS
from tests.mutants.deaths import DEATHS
from tests.mutants.entrance import ENTRANCE
from tests.mutants.entry import ENTRY
from tests.mutants.fences import FENCES
from tests.mutants.fleets import FLEETS
from tests.mutants.inspections import INSPECTIONS
from tests.mutants.mutant import Mutant
from tests.mutants.promotion import PROMOTION
from tests.mutants.reach import REACH
from tests.mutants.records import RECORDS
from tests.mutants.rights import RIGHTS
from tests.mutants.rollups import ROLLUPS
from tests.mutants.rules import RULES
from tests.mutants.runtime import RUNTIME
from tests.mutants.stops import STOPS
from tests.mutants.suspects import SUSPECTS
from tests.mutants.tasks import TASKS
from tests.mutants.web import WEB

MUTANTS: tuple[Mutant, ...] = (
    *FENCES,
    *CLAIMS,
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
    *BATCHES,
    *ENTRY,
    *WEB,
)


def part_of(mutants: Sequence[Mutant], part: int, parts: int) -> list[Mutant]:
    """Return every mutant of one part; neighbours, which take equally long, are in several."""
    return list(mutants[part - 1 :: parts])
