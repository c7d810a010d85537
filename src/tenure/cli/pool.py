"""``tenure pool``: named slots, each held by one job at a time."""

from typing import Annotated

import typer

from tenure.cli.connection import Connection, action
from tenure.cli.options import Reason, argument
from tenure.cli.output import ago
from tenure.cli.parsing import not_found
from tenure.cli.program import group
from tenure.domain.values import amount
from tenure.store.calls import control_calls, queries
from tenure.store.results import Pool

commands = group("pool")

Name = Annotated[str, typer.Argument(metavar="POOL", help="Name of a pool.")]
_SLOTS = typer.Argument(metavar="SLOT", help="Names of slots.")


@action(commands, "create", "tenure pool create worktrees tree-1 tree-2", may_create=True)
def create(to: Connection, pool: Name, slots: Annotated[list[str] | None, _SLOTS] = None) -> None:
    """Create a pool."""
    _answer(to, to.send(control_calls.create_pool(pool, slots or ())))


@action(commands, "list", "tenure pool list", "tenure pool list worktrees --json")
def list_pools(
    to: Connection,
    pool: str | None = argument("POOL", "Only this pool.", None),
) -> None:
    """List pools, and which jobs hold their slots."""
    pools = to.send(queries.pools(pool))
    if pool is not None and not pools:
        raise not_found("pool", pool, [known.name for known in to.send(queries.pools())])
    to.out.answer(
        pools,
        lambda _: to.out.table(
            ("pool", "slot", "job", "held"),
            (
                (_title(pool), slot and slot.name, slot and slot.job_id, slot and ago(slot.held_at))
                for pool in pools
                for slot in pool.slots or (None,)
            ),
            "no pools",
        ),
    )


@action(commands, "add-slot", "tenure pool add-slot worktrees tree-3")
def add_slot(to: Connection, pool: Name, slots: Annotated[list[str], _SLOTS]) -> None:
    """Add slots to a pool."""
    _answer(to, to.send(control_calls.change_slots(pool, add=slots)))


@action(commands, "remove-slot", "tenure pool remove-slot worktrees tree-3")
def remove_slot(to: Connection, pool: Name, slots: Annotated[list[str], _SLOTS]) -> None:
    """Remove slots from a pool; a slot that a job holds is refused."""
    _answer(to, to.send(control_calls.change_slots(pool, remove=slots)))


@action(commands, "release", "tenure pool release worktrees tree-1")
def release(
    to: Connection,
    pool: Name,
    slot: str = argument("SLOT", "Name of a slot."),
    reason: Reason = None,
) -> None:
    """Take a slot from the job that holds it; a running job must be stopped first."""
    _answer(to, to.send(control_calls.release_slot(pool, slot, reason=reason)))


def _title(pool: Pool) -> str:
    return f"{pool.name} (paused)" if pool.paused else pool.name


def _answer(to: Connection, pool: Pool) -> None:
    free = sum(slot.job_id is None for slot in pool.slots)
    to.out.answer(pool, f"Pool {pool.name}: {amount(len(pool.slots), 'slot')}, {free} free.")
