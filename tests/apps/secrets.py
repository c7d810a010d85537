"""Jobs that are given secrets; they tell only the digest of what they got."""

import hashlib
from typing import Annotated

from pydantic import BaseModel, Field, Secret, SecretStr

from tenure import Context, Tenure
from tests.apps.stopping import mark

app = Tenure()


class Login(BaseModel):
    name: str
    password: SecretStr


def digest(*secrets: object) -> str:
    return hashlib.sha256(repr(secrets).encode()).hexdigest()


@app.task(retry=0)
async def log_out(ctx: Context, password: SecretStr) -> None:
    mark(f"undone-{ctx.job.id}", digest(password.get_secret_value()))


@app.task(retry=0, compensate=log_out)
async def log_in(
    name: str,
    password: SecretStr,
    token: Annotated[SecretStr | None, Field(max_length=50)] = None,
    pins: list[Secret[int]] | None = None,
    login: Login | None = None,
) -> str:
    return digest(
        password.get_secret_value(),
        token and token.get_secret_value(),
        [pin.get_secret_value() for pin in pins or ()],
        login and login.password.get_secret_value(),
    )


@app.task(retry=0)
async def forget(ctx: Context, word: str) -> None:
    mark(f"forgotten-{ctx.job.id}", digest(word))


@app.task(retry=0, compensate=forget)
async def remember(word: str) -> None:
    """Take what only who enqueues the job calls a secret."""


@app.task(retry=0)
def log_in_here(password: SecretStr) -> str:
    return digest(password.get_secret_value())


@app.task(retry=0)
async def fails(password: SecretStr) -> None:
    raise ValueError(f"{password} is wrong")


@app.task(retry=0)
async def passes_on(ctx: Context, password: SecretStr) -> str:
    child = await ctx.aspawn(log_in_here, password)
    [digest] = await ctx.await_for([child])
    return str(digest)
