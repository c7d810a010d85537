"""What workers say."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from tenure.domain.lifecycle import State
from tenure.store.call import Argument, Call, answer
from tenure.store.calls.arguments import actor, as_list, of_worker
from tenure.store.new_jobs import as_json, refuse_not_json
from tenure.store.outcomes import Ending, Report
from tenure.store.results import Claim, Claimed, Finished, Held, Holding, Renewal, Reported


def register(
    worker: UUID, host: str, pid: int, lease: timedelta, queues: Sequence[str] | None = None
) -> Call[dict[str, Any]]:
    return Call(
        "register",
        {
            **of_worker(worker),
            "host": Argument(host, "text"),
            "pid": Argument(pid, "int4"),
            "lease": Argument(lease, "interval"),
            "queues": Argument(as_list(queues), "text[]"),
        },
        answer(dict[str, Any]),
        control=True,
    )


def renew(worker: UUID, holding: Sequence[Holding] = ()) -> Call[Renewal]:
    return Call(
        "renew",
        {**of_worker(worker), "holding": Argument(as_json(holding), "jsonb")},
        answer(Renewal),
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


def leave(worker: UUID) -> Call[dict[str, Any]]:
    return Call("leave", of_worker(worker), answer(dict[str, Any]), safe=True, control=True)


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
        _read_claim,
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


def crash(worker: UUID, jobs: Sequence[Ending]) -> Call[Finished]:
    return Call(
        "crash", {**of_worker(worker), "jobs": Argument(as_json(jobs), "jsonb")}, _read_finished
    )


def release(worker: UUID, jobs: Sequence[Ending]) -> Call[Finished]:
    return Call(
        "release", {**of_worker(worker), "jobs": Argument(as_json(jobs), "jsonb")}, _read_finished
    )


def report(worker: UUID, reports: Sequence[Report]) -> Call[Reported]:
    for said in reports:
        refuse_not_json([said.progress, said.checkpoint, *said.partials])
    return Call(
        "report",
        {**of_worker(worker), "reports": Argument(as_json(reports), "jsonb")},
        answer(Reported),
    )


class _ClaimColumns(msgspec.Struct):
    alive: bool
    floors: msgspec.Raw
    token: int = 0
    jobs: dict[str, list[Any] | None] = {}
    lanes: dict[str, tuple[str, str]] = {}


_claim_columns = answer(_ClaimColumns)
_rest = ("parent_id", "key", "target", "options", "budget", "checkpoint", "slots")
_first = ("args", "attempt", "max_attempts", "crashes", "priority", "owner", "root_id")


def _read_claim(text: bytes | str) -> Claim:
    claim = _claim_columns(text)
    columns = claim.jobs
    ids = columns.get("id") or []
    nothing = [None] * len(ids)
    lanes = [claim.lanes[str(lane)] for lane in columns.get("lane") or []]
    rows = zip(*(columns.get(name) or nothing for name in (*_first, *_rest)), strict=True)
    jobs = tuple(
        Claimed(job, claim.token, *lane, *row)
        for job, lane, row in zip(ids, lanes, rows, strict=True)
    )
    return Claim(jobs, bytes(claim.floors).decode(), claim.alive)


class _FinishedByState(msgspec.Struct):
    accepted: dict[State, list[int]]
    refused: tuple[int, ...]
    busy: tuple[int, ...]
    wakes: bool


_finished_by_state = answer(_FinishedByState)


def _read_finished(text: bytes | str) -> Finished:
    told = _finished_by_state(text)
    accepted = {job: state for state, jobs in told.accepted.items() for job in jobs}
    return Finished(accepted, told.refused, told.busy, told.wakes)
