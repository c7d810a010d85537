"""Jobs that wait for a person, with a pause and a resume that carries the answer."""

from tenure import Context, Pause, Tenure
from tenure.domain.job import JSON

app = Tenure()


def answer(ctx: Context) -> JSON:
    if ctx.resume_value is None:
        raise Pause("needs a human")
    return ctx.resume_value


@app.task(retry=0)
async def asks(ctx: Context) -> JSON:
    return answer(ctx)


@app.task(retry=0, executor="process")
def asks_in_a_process(ctx: Context) -> JSON:
    return answer(ctx)


@app.task(retry=0, executor="thread")
def asks_in_a_thread(ctx: Context) -> JSON:
    return answer(ctx)
