"""The database behind a command, the caller, and where the command prints.

``connected`` gives a command its connection and the four options that describe it.
"""

import inspect
import sys
import traceback
from collections.abc import Callable, Coroutine
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

import typer

from tenure.cli.options import Json, TenantOption, TokenOption, Url
from tenure.cli.output import Printer, clean, report
from tenure.cli.parsing import id_or_key, not_found
from tenure.cli.program import command
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client, as_tenant
from tenure.control.job_operations import job_with_key
from tenure.control.operation import Operation
from tenure.control.tokens import recognize
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import NotAllowed, NotRecognized, SchemaMismatch, TenureError
from tenure.runtime.exit_code import ExitCode
from tenure.store.call import Call

if TYPE_CHECKING:
    from tenure.runtime.runner.app_loader import App

P = ParamSpec("P")
T = TypeVar("T")

TOKEN_FILE = "token"  # noqa: S105 - under the folder of the embedded PostgreSQL, by `tenure up`


class Connection:
    """The database behind a command, opened at its first use."""

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
        self.out = printer or Printer()
        self._tenant = None if tenant is None else as_tenant(tenant)
        self._token = token

    @cached_property
    def principal(self) -> Principal:
        """Return the caller that the token names, or the database user."""
        token = self._token or self._folder_token()
        if not token:
            return self._database_user(self._tenant or DEFAULT)
        known = recognize(self.client, token, via="cli")
        if self._tenant not in (None, known.tenant):
            raise NotAllowed(f"this token is valid only for the tenant {known.tenant.name}")
        return known

    def of_tenant(self, name: str) -> AuthorizedClient:
        """Return the same caller in another tenant; only admins of the default tenant may."""
        tenant, who = as_tenant(name), self.principal
        if tenant == who.tenant:
            return self.caller
        if not self.has_token:
            return AuthorizedClient(self.client, self._database_user(tenant))
        if not who.controls_tenants:
            raise NotAllowed(f"this token is valid only for the tenant {who.tenant.name}")
        self._refuse_unknown(tenant)
        return AuthorizedClient(self.client, replace(who, tenant=tenant))

    @cached_property
    def caller(self) -> AuthorizedClient:
        return AuthorizedClient(self.client, self.principal)

    @cached_property
    def shared(self) -> AuthorizedClient:
        """Return the caller for what all tenants share: workers and tenants."""
        return self.caller if self.has_token else self.of_tenant(DEFAULT.name)

    @property
    def tenant(self) -> Tenant:
        return self.principal.tenant

    def send(self, call: Call[T]) -> T:
        return self.caller.send(call)

    def perform(self, operation: Operation[T]) -> T:
        return self.caller.perform(operation)

    def job(self, named: str) -> int:
        """Return the id of a job from its id or key; digits alone are an id."""
        known = id_or_key(named)
        return known if isinstance(known, int) else self.perform(job_with_key(known))

    def use(self, app: "App") -> None:
        """Use the database and settings of an app, unless the command names a database."""
        may_create = self.client.may_create
        self.client = Client(self.client.known_url or app.known_url, settings=app.settings)
        self.client.may_create = may_create

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run async code, and close its connections in its own event loop."""
        import asyncio

        async def run_and_close() -> T:
            try:
                return await coroutine
            finally:
                await self.client.aclose()

        return asyncio.run(run_and_close())

    def print_database(self) -> None:
        """Print on standard error which database and tenant this is, except with --json."""
        if self.out.json:
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
        return bool(self._token or self._folder_token())

    def _database_user(self, tenant: Tenant) -> Principal:
        try:
            known = self.client.store_of(tenant).whoami()
        except SchemaMismatch:
            self._refuse_unknown(tenant)
            raise
        return Principal(known["name"], Role(known["role"]), tenant, "cli")

    def _refuse_unknown(self, tenant: Tenant) -> None:
        """Refuse a tenant that does not exist, if the caller may list tenants."""
        if tenant == DEFAULT:
            return
        with suppress(NotAllowed):
            known = [it.name for it in self.client.store.tenants()]
            if tenant.name not in known:
                raise not_found("tenant", tenant.name, known)

    def _folder_token(self) -> str | None:
        """Return the token that ``tenure up`` left for users who may read its folder."""
        if self.client.known_url is not None:
            return None
        path = Path(self.client.settings.folder) / TOKEN_FILE
        try:
            return path.read_text().strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError:
            raise NotRecognized(f"the token in {path} is not text") from None
        except OSError as error:
            raise NotRecognized(f"the token in {path} cannot be read: {error.strerror}") from None


def load_app(path: str) -> "App":
    """Import an app; if that fails, print why, with the traceback of the app's own code."""
    from tenure.runtime.runner.app_loader import load

    try:
        with redirect_stdout(sys.stderr):
            return load(path)
    except TenureError as error:
        refuse_app(path, str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything
        traceback.print_exc()
        refuse_app(path, f"{type(error).__name__}: {error}")


def refuse_app(path: str, problem: str) -> NoReturn:
    report("AppNotImported", f"{path} cannot be imported: {problem}", json=False)
    raise typer.Exit(ExitCode.NOT_IMPORTED)


def action(
    parent: typer.Typer, name: str, *examples: str, may_create: bool = False
) -> Callable[[Callable[Concatenate[Connection, P], None]], Callable[..., None]]:
    """Make a connected command of a group; with ``may_create`` it may create a database."""
    return lambda function: command(parent, name, *examples)(
        connected(function, may_create=may_create)
    )


def connected(
    command: Callable[Concatenate[Connection, P], None], *, may_create: bool = False
) -> Callable[..., None]:
    """Give a command its connection, and the options that describe it.

    With ``may_create`` it may create an embedded database.
    """

    @wraps(command)
    def run(
        *args: Any, url: Url, tenant: TenantOption, token: TokenOption, json: Json, **kwargs: Any
    ) -> None:
        to = Connection(url, tenant, token, Printer(json=json), may_create=may_create)
        try:
            command(to, *args, **kwargs)
        finally:
            to.close()

    own = inspect.signature(command, eval_str=True).parameters.values()
    shared: dict[str, Any] = {"url": Url, "tenant": TenantOption, "token": TokenOption}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *list(own)[1:],
            *(_option(name, None, kind) for name, kind in shared.items()),
            _option("json", False, Json),
        ]
    )
    run.__annotations__ = {}
    del run.__wrapped__
    return run


def _option(name: str, default: Any, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
