"""What every command shares: the database it speaks with, in whose name, and how it prints.

The four options are said once, here; ``connected`` gives them to a command.
"""

import inspect
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from tenure.cli.printing import Printer, clean
from tenure.cli.reading import id_or_key, not_found
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client, as_tenant
from tenure.control.job_operations import job_with_key
from tenure.control.operation import Operation
from tenure.control.tokens import recognize
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, NotAllowed, NotRecognized, SchemaMismatch
from tenure.store.call import Call

if TYPE_CHECKING:
    from tenure.runtime.runner.app_loader import App

P = ParamSpec("P")
T = TypeVar("T")

_PANEL = "On every command"
TOKEN_FILE = "token"  # noqa: S105 - under the folder of the embedded PostgreSQL, by `tenure up`


def _refuse_empty(param: typer.CallbackParam, value: str | None) -> str | None:
    """Refuse an option that was given and is empty, as an unset variable of a script is.

    Left out it would mean another database, or the rights of the database user.
    """
    if value == "":
        raise InputRefused(f"{param.opts[0]} is empty; give it a value, or leave it out")
    return value


Url = Annotated[
    str | None,
    typer.Option(
        envvar="TENURE_DATABASE_URL",
        show_envvar=False,
        metavar="URL",
        callback=_refuse_empty,
        help="Your PostgreSQL (TENURE_DATABASE_URL); else the embedded one.",
        rich_help_panel=_PANEL,
    ),
]
TenantName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=_refuse_empty,
        help="Whose jobs; else the token's tenant, else the default one.",
        rich_help_panel=_PANEL,
    ),
]
TokenText = Annotated[
    str | None,
    typer.Option(
        envvar="TENURE_TOKEN",
        show_envvar=False,
        metavar="TEXT",
        callback=_refuse_empty,
        help="Who asks (TENURE_TOKEN); else the database user.",
        rich_help_panel=_PANEL,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON; a stream is JSON Lines.", rich_help_panel=_PANEL),
]


class Connection:
    """The database behind a command. Nothing is opened before it is used."""

    def __init__(
        self,
        url: str | None = None,
        tenant: str | None = None,
        token: str | None = None,
        printer: Printer | None = None,
        *,
        may_create: bool = False,
    ) -> None:
        self.client = Client(url)
        self.client.may_create = may_create
        self.show = printer or Printer()
        self._tenant = None if tenant is None else as_tenant(tenant)
        self._token = token

    @cached_property
    def principal(self) -> Principal:
        """Whom the token names, else the database user."""
        token = self._token or self._token_of_the_folder()
        if not token:
            return self._database_user(self._tenant or DEFAULT)
        known = recognize(self.client, token, via="cli")
        if self._tenant not in (None, known.tenant):
            raise NotAllowed(f"this token is for the tenant {known.tenant.name}, and for no other")
        return known

    def of_tenant(self, name: str) -> AuthorizedClient:
        """On behalf of the same one, in another tenant: for admins of the default one alone."""
        tenant, who = as_tenant(name), self.principal
        if tenant == who.tenant:
            return self.caller
        if not self.has_token:
            return AuthorizedClient(self.client, self._database_user(tenant))
        if not who.controls_tenants:
            raise NotAllowed(f"this token is for the tenant {who.tenant.name}, and for no other")
        self._refuse_unknown(tenant)
        return AuthorizedClient(self.client, replace(who, tenant=tenant))

    @cached_property
    def caller(self) -> AuthorizedClient:
        return AuthorizedClient(self.client, self.principal)

    @cached_property
    def shared(self) -> AuthorizedClient:
        """For what all tenants share: workers and tenants."""
        return self.caller if self.has_token else self.of_tenant(DEFAULT.name)

    @property
    def tenant(self) -> Tenant:
        return self.principal.tenant

    def send(self, call: Call[T]) -> T:
        return self.caller.send(call)

    def perform(self, operation: Operation[T]) -> T:
        return self.caller.perform(operation)

    def job(self, named: str) -> int:
        """The id of a job, from its id or its key; what has digits alone is an id."""
        known = id_or_key(named)
        return known if isinstance(known, int) else self.perform(job_with_key(known))

    def use(self, app: "App") -> None:
        """Where the app has its jobs, unless the command says otherwise."""
        self.client = Client(self.client.known_url or app.known_url, settings=app.settings)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run async code, and close in its event loop what it opened."""
        import asyncio

        async def whole() -> T:
            try:
                return await coroutine
            finally:
                await self.client.aclose()

        return asyncio.run(whole())

    def tell_database(self) -> None:
        """Say on standard error whose jobs these are; programs are not told."""
        if self.show.json:
            return
        from tenure.store.connection import describe_url

        if self.client.known_url is None:
            database = f"PostgreSQL in {Path(self.client.settings.folder).absolute()}"
        else:
            database = describe_url(self.client.known_url)
        typer.echo(clean(f"Database: {database}, tenant {self.tenant.name}"), err=True)

    def close(self) -> None:
        self.client.close()

    @cached_property
    def has_token(self) -> bool:
        return bool(self._token or self._token_of_the_folder())

    def _database_user(self, tenant: Tenant) -> Principal:
        try:
            known = self.client.store_of(tenant).whoami()
        except SchemaMismatch:
            self._refuse_unknown(tenant)
            raise
        return Principal(known["name"], Role(known["role"]), tenant, "cli")

    def _refuse_unknown(self, tenant: Tenant) -> None:
        """Refuse a tenant that does not exist, if that can be seen from here."""
        if tenant == DEFAULT:
            return
        with suppress(NotAllowed):
            known = [it.name for it in self.client.store.tenants()]
            if tenant.name not in known:
                raise not_found("tenant", tenant.name, known)

    def _token_of_the_folder(self) -> str | None:
        """`tenure up` leaves one for whoever may read its folder."""
        if self.client.known_url is not None:
            return None
        path = Path(self.client.settings.folder) / TOKEN_FILE
        try:
            return path.read_text().strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError:
            raise NotRecognized(f"the token in {path} is not a text") from None
        except OSError as error:
            raise NotRecognized(f"the token in {path} cannot be read: {error.strerror}") from None


def connected(command: Callable[Concatenate[Connection, P], None]) -> Callable[..., None]:
    """Give a command its connection, and the options that say which."""
    return _connected(command, may_create=False)


def connected_or_new(command: Callable[Concatenate[Connection, P], None]) -> Callable[..., None]:
    """Do the same for a command that makes something, and an embedded database if need be."""
    return _connected(command, may_create=True)


def _connected(
    command: Callable[Concatenate[Connection, P], None], *, may_create: bool
) -> Callable[..., None]:
    @wraps(command)
    def connecting(
        *args: Any, url: Url, tenant: TenantName, token: TokenText, json: Json, **kwargs: Any
    ) -> None:
        to = Connection(url, tenant, token, Printer(json=json), may_create=may_create)
        try:
            command(to, *args, **kwargs)
        finally:
            to.close()

    own = inspect.signature(command, eval_str=True).parameters.values()
    shared: dict[str, Any] = {"url": Url, "tenant": TenantName, "token": TokenText}
    connecting.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *list(own)[1:],
            *(_option(name, None, kind) for name, kind in shared.items()),
            _option("json", False, Json),
        ]
    )
    connecting.__annotations__ = {}
    del connecting.__wrapped__
    return connecting


def _option(name: str, default: Any, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
