"""Hostile and innocent jobs in one app, so that they meet in one runner."""

from tests.apps.hostile import app as hostile
from tests.apps.hostile import habitual

app = hostile.app
coroutine = hostile.coroutine
uses = app.task(retry=0, close_timeout=habitual.CLOSE_TIMEOUT)(habitual.uses.function)
long = app.task(retry=habitual.RETRY)(habitual.long.function)
