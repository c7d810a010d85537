"""``tenure pool``: named things of which jobs hold one each."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected, connected_or_new
from tenure.cli.grouping import command, group
from tenure.cli.naming import Why
from tenure.cli.printing import ago
from tenure.cli.reading import not_found
from tenure.domain.values import amount
from tenure.store.calls import control_calls, queries
from tenure.store.results import Pool

commands = group(
    "pool",
    "Look at pools and their slots, and change them.",
    "tenure pool create worktrees tree-1 tree-2",
    "tenure pool list",
)

Name = Annotated[str, typer.Argument(metavar="POOL", help="The name of a pool.")]
Slots = Annotated[list[str], typer.Argument(metavar="SLOT", help="The names of slots.")]


@command(commands, "create", "tenure pool create worktrees tree-1 tree-2")
@connected_or_new
def create(
    to: Connection,
    pool: Name,
    slots: Annotated[
        list[str] | None, typer.Argument(metavar="SLOT", help="The names of its slots.")
    ] = None,
) -> None:
    """Make a pool."""
    _tell(to, to.send(control_calls.create_pool(pool, slots or ())))


@command(commands, "list", "tenure pool list", "tenure pool list worktrees --json")
@connected
def list_pools(
    to: Connection,
    pool: Annotated[str | None, typer.Argument(metavar="POOL", help="Only this one.")] = None,
) -> None:
    """List pools and who holds their slots."""
    pools = to.send(queries.pools(pool))
    if pool is not None and not pools:
        raise not_found("pool", pool, [it.name for it in to.send(queries.pools())])
    if to.show.json:
        to.show.document(pools)
        return
    to.show.table(
        ("pool", "slot", "job", "held"),
        (
            (_named(it), slot and slot.name, slot and slot.job_id, slot and ago(slot.held_at))
            for it in pools
            for slot in it.slots or (None,)
        ),
        "no pools",
    )


@command(commands, "add-slot", "tenure pool add-slot worktrees tree-3")
@connected
def add_slot(to: Connection, pool: Name, slots: Slots) -> None:
    """Add slots to a pool."""
    _tell(to, to.send(control_calls.change_slots(pool, add=slots)))


@command(commands, "remove-slot", "tenure pool remove-slot worktrees tree-3")
@connected
def remove_slot(to: Connection, pool: Name, slots: Slots) -> None:
    """Remove slots from a pool; one that a job holds is refused."""
    _tell(to, to.send(control_calls.change_slots(pool, remove=slots)))


@command(commands, "release", "tenure pool release worktrees tree-1")
@connected
def release(
    to: Connection,
    pool: Name,
    slot: Annotated[str, typer.Argument(metavar="SLOT", help="The name of a slot.")],
    reason: Why = None,
) -> None:
    """Take a slot from the job that holds it; one that runs has to be stopped first."""
    _tell(to, to.send(control_calls.release_slot(pool, slot, reason=reason)))


def _named(pool: Pool) -> str:
    return f"{pool.name} (paused)" if pool.paused else pool.name


def _tell(to: Connection, pool: Pool) -> None:
    if to.show.json:
        to.show.document(pool)
        return
    free = sum(slot.job_id is None for slot in pool.slots)
    to.show.say(f"Pool {pool.name}: {amount(len(pool.slots), 'slot')}, {free} free.")
