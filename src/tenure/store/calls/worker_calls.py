"""What workers say."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from tenure.domain.inspection import InspectionAnswer
from tenure.domain.lifecycle import State
from tenure.store.call import Argument, Call
from tenure.store.calls.arguments import actor, as_list, of_job, of_worker
from tenure.store.claims import ClaimColumns, claim_of, read_claim
from tenure.store.new_jobs import as_json, refuse_not_json
from tenure.store.outcomes import Ending, Report
from tenure.store.reading import answer, flattened
from tenure.store.results import (
    Claim,
    Completed,
    Exchanged,
    Finished,
    Held,
    Holding,
    Promoted,
    Renewal,
    Reported,
    SignalsRead,
    TenantActivity,
)

C = TypeVar("C")


def register(
    worker: UUID,
    host: str,
    pid: int,
    lease: timedelta,
    queues: Sequence[str] | None = None,
    tenants: Sequence[str] | None = None,
) -> Call[dict[str, Any]]:
    return Call(
        "register",
        {
            **of_worker(worker),
            "host": Argument(host, "text"),
            "pid": Argument(pid, "int4"),
            "lease": Argument(lease, "interval"),
            "queues": Argument(as_list(queues), "text[]"),
            "tenants": Argument(as_list(tenants), "text[]"),
        },
        answer(dict[str, Any]),
        control=True,
    )


def announce(worker: UUID, tasks: Sequence[Mapping[str, Any]]) -> Call[dict[str, Any]]:
    return Call(
        "announce",
        {**of_worker(worker), "tasks": Argument(as_json(tasks), "jsonb")},
        answer(dict[str, Any]),
        safe=True,
        control=True,
    )


def renew(
    worker: UUID,
    holding: Sequence[Holding] = (),
    *,
    trouble: str | None = None,
    runners: Mapping[str, Mapping[str, Any]] | None = None,
) -> Call[Renewal]:
    """Renew the lease of a worker; with trouble, also say why it can start no runner.

    ``runners`` are its runners by id, with tenant, kind, pid and the tokens of its jobs; none: as
    told before.
    """
    return Call(
        "renew",
        {
            **of_worker(worker),
            "holding": Argument(as_json(holding), "jsonb"),
            "trouble": Argument(trouble, "text"),
            "runners": Argument(None if runners is None else as_json(runners), "jsonb"),
        },
        answer(Renewal),
        safe=True,
        control=True,
    )


def read_signals(worker: UUID) -> Call[SignalsRead]:
    return Call("read_signals", of_worker(worker), answer(SignalsRead), safe=True, control=True)


def tenant_activity(
    tenants: Sequence[str] | None = None, *, after: str = ""
) -> Call[TenantActivity]:
    """Of these tenants; without names, of all."""
    return Call(
        "tenant_activity",
        {"names": Argument(as_list(tenants), "text[]"), "after": Argument(after, "text")},
        answer(TenantActivity),
        safe=True,
        control=True,
    )


def drain(
    worker: UUID, reason: str | None = None, *, by: str | None = None, via: str = "python"
) -> Call[dict[str, Any]]:
    return Call(
        "drain",
        {**of_worker(worker), "reason": Argument(reason, "text"), **actor(by, via)},
        answer(dict[str, Any]),
        control=True,
    )


def leave(worker: UUID, *, killed: bool = False) -> Call[dict[str, Any]]:
    return Call(
        "leave",
        {**of_worker(worker), "killed": Argument(killed, "bool")},
        answer(dict[str, Any]),
        safe=True,
        control=True,
    )


def claim(
    worker: UUID,
    n: int,
    *,
    queues: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    floors: str | None = None,
) -> Call[Claim]:
    return Call(
        "claim",
        {
            **of_worker(worker),
            "n": Argument(n, "int4"),
            "queues": Argument(as_list(queues), "text[]"),
            "tasks": Argument(as_list(tasks), "text[]"),
            "floors": Argument(floors, "jsonb"),
        },
        read_claim,
    )


def held(worker: UUID) -> Call[tuple[Held, ...]]:
    return Call("held", of_worker(worker), answer(tuple[Held, ...]), safe=True)


def finish(worker: UUID, endings: Sequence[Ending]) -> Call[Finished]:
    for ending in endings:
        refuse_not_json(ending.value)
    return Call(
        "finish",
        {**of_worker(worker), "outcomes": Argument(as_json(endings), "jsonb")},
        _read_finished,
    )


class Want(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What claim takes, as a part of an exchange."""

    n: int
    queues: Sequence[str] | None = None
    tasks: Sequence[str] | None = None
    floors: str | None = None


def exchange(
    worker: UUID,
    endings: Sequence[Ending] = (),
    wants: Sequence[Want] = (),
    *,
    promoting: bool = False,
    hungry: bool = False,
) -> Call[Exchanged]:
    for ending in endings:
        refuse_not_json(ending.value)
    asked = [
        {
            "n": want.n,
            "queues": want.queues,
            "tasks": want.tasks,
            "floors": None if want.floors is None else msgspec.Raw(want.floors.encode()),
        }
        for want in wants
    ]
    return Call(
        "exchange",
        {
            **of_worker(worker),
            "outcomes": Argument(as_json(endings), "jsonb"),
            "wants": Argument(as_json(asked), "jsonb"),
            "promoting": Argument(promoting, "bool"),
            "wants_jobs": Argument(hungry, "bool"),
        },
        _read_exchanged,
    )


def waiting_priority(
    worker: UUID, *, queues: Sequence[str] | None = None, tasks: Sequence[str] | None = None
) -> Call[int | None]:
    return Call(
        "waiting_priority",
        {
            **of_worker(worker),
            "queues": Argument(as_list(queues), "text[]"),
            "tasks": Argument(as_list(tasks), "text[]"),
        },
        lambda text: answer(dict[str, int | None])(text)["priority"],
        safe=True,
    )


def end_session(worker: UUID, job: int, token: int) -> Call[int]:
    return Call(
        "end_session",
        {**of_worker(worker), **of_job(job), "token": Argument(token, "int8")},
        lambda text: answer(dict[str, int])(text)["ended"],
        safe=True,
    )


def completed(worker: UUID, job: int, token: int) -> Call[tuple[Completed, ...]]:
    """What a rollback undoes, newest first."""
    return Call(
        "completed",
        {**of_worker(worker), **of_job(job), "token": Argument(token, "int8")},
        answer(tuple[Completed, ...]),
        safe=True,
    )


def answer_inspection(
    worker: UUID, job: int, token: int, look: int, sight: InspectionAnswer
) -> Call[dict[str, bool]]:
    return Call(
        "answer_inspection",
        {
            **of_worker(worker),
            **of_job(job),
            "token": Argument(token, "int8"),
            "inspection": Argument(look, "int8"),
            "answer": Argument(as_json(sight), "jsonb"),
        },
        answer(dict[str, bool]),
        safe=True,
    )


def crash(worker: UUID, jobs: Sequence[Ending]) -> Call[Finished]:
    return Call(
        "crash", {**of_worker(worker), "jobs": Argument(as_json(jobs), "jsonb")}, _read_finished
    )


def release(worker: UUID, jobs: Sequence[Ending]) -> Call[Finished]:
    return Call(
        "release", {**of_worker(worker), "jobs": Argument(as_json(jobs), "jsonb")}, _read_finished
    )


def report(worker: UUID, reports: Sequence[Report], *, number: int | None = None) -> Call[Reported]:
    for said in reports:
        for value in (said.progress, said.checkpoint, *said.partials):
            refuse_not_json(value)
    return Call(
        "report",
        {
            **of_worker(worker),
            "reports": Argument(as_json(reports), "jsonb"),
            "number": Argument(number, "int8"),
        },
        answer(Reported),
        safe=number is not None,
    )


class _FinishedByState(msgspec.Struct):
    accepted: dict[State, list[int]]
    refused: tuple[int, ...]
    busy: tuple[int, ...]
    wakes: bool
    repeated: tuple[int, ...] = ()


_finished_by_state = answer(_FinishedByState)


def _read_finished(text: bytes | str) -> Finished:
    return _finished(_finished_by_state(text))


def _finished(told: _FinishedByState) -> Finished:
    accepted = {job: state for state, jobs in told.accepted.items() for job in jobs}
    return Finished(accepted, told.refused, told.busy, told.wakes, told.repeated)


class _Exchange(msgspec.Struct, Generic[C]):
    alive: bool
    finished: _FinishedByState
    claims: list[C]
    promoted: Promoted | None
    promote_error: str | None
    next_due: float | None
    idled: bool


_exchange = msgspec.json.Decoder(_Exchange[ClaimColumns]).decode
_loose_exchange = msgspec.json.Decoder(_Exchange[msgspec.Raw]).decode


def _read_exchanged(text: bytes | str) -> Exchanged:
    try:
        told = _exchange(text)
        return _exchanged(told, map(claim_of, told.claims))
    except (msgspec.DecodeError, RecursionError):
        loose = _loose_exchange(flattened(text))
        return _exchanged(loose, (read_claim(bytes(claim)) for claim in loose.claims))


def _exchanged(told: _Exchange[Any], claims: Iterable[Claim]) -> Exchanged:
    return Exchanged(
        told.alive,
        _finished(told.finished),
        tuple(claims),
        told.promoted,
        told.promote_error,
        told.next_due,
        told.idled,
    )
