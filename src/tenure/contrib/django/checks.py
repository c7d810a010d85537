"""The checks of Django on ``settings.TENURE``."""

from collections.abc import Iterable
from typing import Any

from django.core import checks

from tenure.contrib.django.configuration import Configuration, url_of
from tenure.errors import TenureError


def check_settings(**_: Any) -> Iterable[checks.CheckMessage]:
    """Return what is wrong with ``settings.TENURE`` and the database that it names."""
    try:
        given = Configuration.read()
    except TenureError as why:
        return [checks.Error(str(why), id="tenure.E001")]
    if given.alias is None:
        return []
    own = given.settings.database_url
    try:
        url = url_of(given.alias)
    except TenureError as why:
        return [] if own else [checks.Error(str(why), id="tenure.E002")]
    if own in (None, url):
        return []
    return [
        checks.Warning(
            f"database_url, or TENURE_DATABASE_URL, is not the URL of the database "
            f"{given.alias!r}: jobs are not part of its transactions",
            hint="If they are to be elsewhere, say so with TENURE['database'] = None.",
            id="tenure.W001",
        )
    ]
