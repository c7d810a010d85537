"""Verbs of workers."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Unpack
from uuid import UUID

import msgspec

from tenure.domain.inspection import InspectionAnswer
from tenure.store.answers import flattened
from tenure.store.claims import ClaimColumns, claim_of, read_claim
from tenure.store.new_jobs import encode_json, refuse_not_json
from tenure.store.outcomes import Ending, Report
from tenure.store.results import (
    Claim,
    CompletedTask,
    Exchanged,
    Finished,
    Held,
    Holding,
    Renewal,
    Reported,
    SignalsRead,
    TenantActivity,
)
from tenure.store.verb import Actor, EncodedJSON, Int4, Parameter, verb


class Want(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The arguments of a claim, as a part of an exchange."""

    n: int
    queues: Sequence[str] | None = None
    tasks: Sequence[str] | None = None
    floors: str | None = None
    in_turn: bool = False  # large, where there are many jobs: wait for other such claims


def _encode_endings(endings: Sequence[Ending]) -> str:
    for ending in endings:
        refuse_not_json(ending.value)
    return encode_json(endings)


def _encode_wants(wants: Sequence[Want]) -> str:
    return encode_json(
        [
            {
                "n": want.n,
                "queues": want.queues,
                "tasks": want.tasks,
                "floors": None if want.floors is None else msgspec.Raw(want.floors.encode()),
                "in_turn": want.in_turn,
            }
            for want in wants
        ]
    )


def _encode_reports(reports: Sequence[Report]) -> str:
    for report in reports:
        for value in (report.progress, report.checkpoint, *report.partials):
            refuse_not_json(value)
    return encode_json(reports)


_exchange = msgspec.json.Decoder(Exchanged[ClaimColumns]).decode
_loose_exchange = msgspec.json.Decoder(Exchanged[msgspec.Raw]).decode


def _read_exchanged(text: bytes | str) -> Exchanged[Claim]:
    answer: Any
    try:
        answer = _exchange(text)
        claims = tuple(map(claim_of, answer.claims))
    except (msgspec.DecodeError, RecursionError):
        answer = _loose_exchange(flattened(text))
        claims = tuple(read_claim(bytes(claim)) for claim in answer.claims)
    return msgspec.structs.replace(answer, claims=claims)


Outcomes = Annotated[Sequence[Ending], Parameter("jsonb", _encode_endings)]


@verb(control=True)
def register(
    worker: UUID,
    host: str,
    pid: Int4,
    lease: timedelta,
    queues: Sequence[str] | None = None,
    tenants: Sequence[str] | None = None,
    capacity: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Register a worker; ``capacity`` is how many jobs of each executor it runs at once."""


@verb(safe=True, control=True)
def announce(worker: UUID, tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]: ...


@verb(safe=True, control=True)
def renew(
    worker: UUID,
    holding: Sequence[Holding] = (),
    *,
    trouble: str | None = None,
    runners: Mapping[str, Mapping[str, Any]] | None = None,
    run_times: Mapping[str, float] | None = None,
) -> Renewal:
    """Renew the lease of a worker; ``trouble`` tells why it can start no runner.

    ``runners`` maps the id of each runner to its tenant, kind, pid and the tokens of its jobs; None
    leaves those of the previous call. ``run_times`` has the seconds that runs of a task take,
    where they changed.
    """


@verb(safe=True, control=True)
def read_signals(worker: UUID) -> SignalsRead: ...


@verb(safe=True, control=True)
def tenant_activity(names: Sequence[str] | None = None, *, after: str = "") -> TenantActivity:
    """Return the activity of these tenants, or of all."""


@verb(control=True)
def drain(worker: UUID, reason: str | None = None, **actor: Unpack[Actor]) -> dict[str, Any]: ...


@verb(safe=True, control=True)
def leave(worker: UUID, *, killed: bool = False) -> dict[str, Any]: ...


@verb(read=read_claim)
def claim(
    worker: UUID,
    n: Int4,
    *,
    queues: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    floors: EncodedJSON | None = None,
) -> Claim: ...


@verb(safe=True)
def held(worker: UUID) -> tuple[Held, ...]: ...


@verb()
def finish(worker: UUID, outcomes: Outcomes) -> Finished: ...


@verb(read=_read_exchanged)
def exchange(
    worker: UUID,
    outcomes: Outcomes = (),
    wants: Annotated[Sequence[Want], Parameter("jsonb", _encode_wants)] = (),
    *,
    promoting: bool = False,
    wants_jobs: bool = False,
) -> Exchanged[Claim]: ...


@verb(safe=True, field="priority")
def waiting_priority(
    worker: UUID, *, queues: Sequence[str] | None = None, tasks: Sequence[str] | None = None
) -> int | None: ...


@verb(safe=True, field="ended")
def end_session(worker: UUID, job: int, token: int) -> int: ...


@verb(safe=True)
def completed(worker: UUID, job: int, token: int) -> tuple[CompletedTask, ...]:
    """Return the tasks that a rollback undoes, newest first."""


@verb(safe=True)
def answer_inspection(
    worker: UUID, job: int, token: int, inspection: int, answer: InspectionAnswer
) -> dict[str, bool]: ...


@verb()
def crash(worker: UUID, jobs: Sequence[Ending]) -> Finished: ...


@verb()
def release(worker: UUID, jobs: Sequence[Ending]) -> Finished: ...


@verb(safe=lambda given: given["number"] is not None)
def report(
    worker: UUID,
    reports: Annotated[Sequence[Report], Parameter("jsonb", _encode_reports)],
    *,
    number: int | None = None,
) -> Reported: ...
