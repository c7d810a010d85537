"""An app that imports what many apps do."""

import os
import time

import httpx
import sqlalchemy

from tenure import Tenure

app = Tenure()
IMPORTED = (httpx.__version__, sqlalchemy.__version__)


@app.task(name="sleeps_in_process")
def sleeps_in_process() -> None:
    time.sleep(3600)


@app.task(name="where")
async def where() -> int:
    return os.getpid()
