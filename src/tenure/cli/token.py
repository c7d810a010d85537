"""``tenure token``: who may ask from outside."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected, connected_or_new
from tenure.cli.grouping import command, group
from tenure.cli.naming import Why
from tenure.cli.printing import ago
from tenure.cli.reading import length, whole
from tenure.control.tokens import make_token
from tenure.domain.duration import in_words
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.store.calls import control_calls, queries

NEVER = "never"
DEFAULT_LIFETIME = in_words(TOKEN_LIFETIME)

commands = group(
    "token",
    "Make tokens, look at them, revoke them.",
    "tenure token create ada --role operator --expires 30d",
    "tenure token list",
)


@command(
    commands,
    "create",
    "tenure token create ada --role operator --expires 30d",
    "tenure token create grafana --of acme",
)
@connected_or_new
def create(
    to: Connection,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Who it stands for, on every record.")
    ],
    role: Annotated[
        Role,
        typer.Option(
            metavar="ROLE",
            help="viewer reads; operator also enqueues, and controls what is its own; admin "
            "controls all of a tenant. viewer else.",
        ),
    ] = Role.VIEWER,
    expires: Annotated[
        str,
        typer.Option(
            metavar="LENGTH", help=f"How long it lasts: 12h, 30d, {NEVER}; {DEFAULT_LIFETIME} else."
        ),
    ] = DEFAULT_LIFETIME,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="TENANT",
            help="Whose jobs it is for; else the asker's tenant. An admin of the default one may.",
        ),
    ] = None,
) -> None:
    """Make a token. It is shown once, and kept by nobody."""
    lifetime = None if expires == NEVER else length(expires, "--expires")
    secret, token = make_token(to.caller, name, role, tenant=of, lifetime=lifetime)
    if to.show.json:
        to.show.document({"secret": secret, "token": token})
        return
    lasts = "ever" if lifetime is None else in_words(lifetime)
    to.show.say(f"Token {token.id}: {name} is {role} of {token.tenant}, for {lasts}.")
    to.show.say("It is shown this once; keep it safe:")
    to.show.say()
    to.show.say(f"  {secret}")


@command(commands, "list", "tenure token list", "tenure token list --json")
@connected
def list_tokens(to: Connection) -> None:
    """List tokens; what they say nobody knows any more."""
    tokens = to.send(queries.tokens())
    if to.show.json:
        to.show.document(tokens)
        return
    to.show.table(
        ("token", "name", "role", "tenant", "made by", "made", "expires", ""),
        (
            (
                it.id,
                it.name,
                it.role,
                it.tenant,
                it.created_by,
                ago(it.created_at),
                ago(it.expires_at) or "never",
                "revoked" if it.revoked_at else None,
            )
            for it in tokens
        ),
        "no tokens",
    )


@command(commands, "revoke", "tenure token revoke 3")
@connected
def revoke(
    to: Connection,
    number: Annotated[str, typer.Argument(metavar="ID", help="The number of a token.")],
    reason: Why = None,
) -> None:
    """Make a token worthless, at once and for good."""
    revoked = to.send(control_calls.revoke_token(whole(number, "a token"), reason=reason))
    if to.show.json:
        to.show.document(revoked)
        return
    to.show.say(f"Token {revoked.id} of {revoked.name} is revoked.")
