"""Roll back a cancelled job: run the compensations of its completed children, newest first."""

from typing import TYPE_CHECKING, Any

from tenure.domain.job import ROLLBACK, After
from tenure.runtime.context import Context
from tenure.runtime.large_values import result_of
from tenure.runtime.steps.effects import aperform

if TYPE_CHECKING:
    from tenure.runtime.runner.app_loader import App


def add_rollback(app: "App") -> None:
    """Give the app the task that a stop with rollback enqueues."""

    async def rollback(
        ctx: Context,
        cancellation: str,  # noqa: ARG001 - the database reads it to find what was completed
        tasks: list[int] | None = None,  # noqa: ARG001 - all, or only these
    ) -> int:
        """Call each compensation with the arguments of its job, and the ``result`` if it wants it.

        A job that another rollback has undone is not undone again.
        """
        completed = await ctx._attempt.arequest("completed")
        children: list[Any] = []
        for job in completed:
            task = app.tasks.get(job["task"])
            undo = task.compensate if task is not None else None
            if undo is None:
                continue
            wanted = undo.signature.types
            known = dict(job["args"])
            if "result" in wanted:
                known["result"] = await aperform(ctx._attempt, result_of(ctx._attempt, job))
            args = {name: known[name] for name in wanted if name in known}
            after = [After(children[-1].id, "run")] if children else []
            child = undo.using(after=after)
            # Arguments that are secret in the job are secret in its compensation.
            draft = ctx._draft(child, (), undo.read_arguments(args), job["secret"] or ())
            undoing = await ctx._attempt.arequest("undo", (job["id"], draft))
            children.append(ctx._handle(child, undoing))
        await ctx.await_for(children)
        return len(children)

    app.task(name=ROLLBACK)(rollback)
