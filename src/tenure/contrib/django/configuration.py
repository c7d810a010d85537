"""``settings.TENURE``, and the URL of a database in ``settings.DATABASES``."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Self
from urllib.parse import quote, urlencode

from django.conf import settings as project
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.connection import ConnectionDoesNotExist
from psycopg.pq import Conninfo

from tenure.config import Settings
from tenure.domain.values import shown
from tenure.errors import SettingInvalid

_DATABASE = "database"
_PLACED = ("user", "password", "host", "port", "dbname")  # in a URL, not in its query
_OWN = (
    "application_name",
    "client_encoding",
    "fallback_application_name",
)  # each client has its own


@dataclass(frozen=True)
class Configuration:
    """The settings of the project, and the alias of the database of the jobs."""

    settings: Settings
    alias: str | None  # None: an embedded PostgreSQL, or database_url

    @classmethod
    def read(cls) -> Self:
        """Read ``settings.TENURE``; a variable such as TENURE_LEASE takes precedence."""
        try:
            given = getattr(project, "TENURE", {})
        except ImproperlyConfigured:
            raise SettingInvalid(
                "Django has no settings yet: set DJANGO_SETTINGS_MODULE, or call django.setup() "
                "before the first use of Tenure"
            ) from None
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise SettingInvalid(
                f"settings.TENURE: it takes a dict of settings, not {shown(given)}"
            )
        values = dict(given)
        alias = values.pop(_DATABASE, DEFAULT_DB_ALIAS)
        if not isinstance(alias, str | None):
            raise SettingInvalid(
                f"settings.TENURE: {_DATABASE} takes the name of one of DATABASES, not "
                f"{shown(alias)}"
            )
        return cls(Settings.from_environment(os.environ, **values), alias)


def url_of(alias: str) -> str:
    """Return the URL of one of ``settings.DATABASES``, as it is now: a test runner changes it."""
    try:
        connection = connections[alias]
    except ConnectionDoesNotExist:
        raise SettingInvalid(
            f"settings.TENURE: {_DATABASE} is {shown(alias)}, and DATABASES has no such database"
        ) from None
    if connection.vendor != "postgresql":
        raise SettingInvalid(
            f"the database {shown(alias)} is {connection.display_name}, and jobs need PostgreSQL: "
            f"name one of DATABASES as TENURE['{_DATABASE}'], or a URL as TENURE['database_url']; "
            f"TENURE = {{'{_DATABASE}': None}} starts an embedded PostgreSQL for development"
        )
    given = connection.get_connection_params()
    parts = {n: str(it) for n, it in given.items() if n in _known_to_libpq() and it is not None}
    if role := connection.settings_dict["OPTIONS"].get("assume_role"):
        parts["options"] = f"{parts.get('options', '')} -c role={role}".strip()
    return _written(parts)


@cache
def _known_to_libpq() -> frozenset[str]:
    names = {option.keyword.decode() for option in Conninfo.get_defaults()}
    return frozenset(names.difference(_OWN))


def _written(parts: Mapping[str, str]) -> str:
    user, password, host, port, name = (quote(parts.get(part, ""), safe="") for part in _PLACED)
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    place = f"{host}:{port}" if port else host
    more = urlencode({n: it for n, it in parts.items() if n not in _PLACED}, quote_via=quote)
    return f"postgresql://{login}{place}/{name}{'?' if more else ''}{more}"
