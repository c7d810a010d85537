"""All mutants."""

from tests.mutants.claims import CLAIMS
from tests.mutants.deaths import DEATHS
from tests.mutants.entrance import ENTRANCE
from tests.mutants.fences import FENCES
from tests.mutants.fleets import FLEETS
from tests.mutants.looks import LOOKS
from tests.mutants.mutant import Mutant
from tests.mutants.promotion import PROMOTION
from tests.mutants.records import RECORDS
from tests.mutants.rights import RIGHTS
from tests.mutants.rollups import ROLLUPS
from tests.mutants.rules import RULES
from tests.mutants.stops import STOPS
from tests.mutants.suspects import SUSPECTS

MUTANTS: tuple[Mutant, ...] = (
    *FENCES,
    *CLAIMS,
    *DEATHS,
    *SUSPECTS,
    *STOPS,
    *PROMOTION,
    *ENTRANCE,
    *RECORDS,
    *RIGHTS,
    *RULES,
    *ROLLUPS,
    *LOOKS,
    *FLEETS,
)


def by_name(name: str) -> Mutant:
    return next(mutant for mutant in MUTANTS if mutant.name == name)
