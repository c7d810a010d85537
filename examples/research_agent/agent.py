"""A research agent: it can be killed or stopped at any line, and pays for no step twice."""

from functools import partial
from pathlib import Path

from pydantic import BaseModel

from examples.research_agent.model import Throttled, complete
from tenure import Context, Discard, Retry, Tenure

MAX_TOKENS = 200  # of one call of the model
AT_ONCE = 2  # questions that are answered at the same time

app = Tenure()


class Approval(BaseModel):
    ok: bool
    note: str = ""


@app.task(
    budget={"tokens": 2_000},
    on_budget="pause",
    retry=Retry(max=20, base="1s", retry_after=True),
)
async def research(ctx: Context, topic: str, folder: str = "published") -> str:
    """Write a report on a topic, and publish it once a person has approved it."""

    async def think(prompt: str) -> str:
        return await ask_model(ctx, prompt)

    plan = await ctx.step("plan", think, f"Plan three questions about: {topic}")
    notes = await ctx.gather(
        "read",
        [partial(think, f"Answer: {question}") for question in plan.splitlines()],
        limit=AT_ONCE,
    )
    draft = await ctx.step("draft", think, "\n".join([f"Write a report on: {topic}", *notes]))
    ctx.emit(draft)
    verdict = await ctx.ask(
        Approval, f"Publish the report on {topic}?", within="7d", default=Approval(ok=False)
    )
    if not verdict.ok:
        raise Discard(verdict.note or "not approved")
    path: str = await ctx.step("publish", publish, folder, topic, draft, ctx.job.id)
    return path


async def ask_model(ctx: Context, prompt: str) -> str:
    """Ask the model, within the limit of all workers and the budget of the job."""
    async with (
        ctx.limit("model", tokens=MAX_TOKENS) as grant,
        ctx.reserve(tokens=MAX_TOKENS) as reserved,
    ):
        try:
            reply = await complete(prompt, MAX_TOKENS)
        except Throttled as busy:
            grant.throttled(retry_after=busy.retry_after)  # for every worker
            raise
        grant.used(tokens=reply.tokens)
        reserved.used(tokens=reply.tokens)
    return reply.text


def publish(folder: str, topic: str, draft: str, job: int) -> str:
    """Write the report to its file, which is the same if this step is repeated, and never half."""
    path = Path(folder) / f"{topic.replace(' ', '-')}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{job}")  # a repetition writes it again, and leaves none
    unfinished.write_text(draft)
    unfinished.replace(path)
    return str(path)
