"""``tenure token``: credentials for the CLI and the REST API."""

from tenure.cli.connection import Connection, action
from tenure.cli.options import Reason, argument, option
from tenure.cli.output import ago
from tenure.cli.parsing import length, whole
from tenure.cli.program import group
from tenure.control.tokens import make_token
from tenure.domain.duration import in_words
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.store.calls import control_calls, queries

NEVER = "never"

commands = group("token")


@action(
    commands,
    "create",
    "tenure token create ada --role operator --expires 30d",
    "tenure token create grafana --of acme",
    may_create=True,
)
def create(
    to: Connection,
    name: str = argument("NAME", "User or program that the audit log names."),
    role: Role = option(
        "ROLE",
        "viewer reads; operator also enqueues, and controls its own jobs; admin "
        "controls everything in a tenant.",
        default=Role.VIEWER,
    ),
    expires: str = option(
        "DURATION", f"Lifetime: 12h, 30d, {NEVER}.", default=in_words(TOKEN_LIFETIME)
    ),
    of: str | None = option(
        "TENANT",
        "Tenant of the token, if it is not the caller's; for admins of the default tenant.",
    ),
) -> None:
    """Create a token. Its secret is shown once and not stored."""
    lifetime = None if expires == NEVER else length(expires, "--expires")
    secret, token = make_token(to.caller, name, role, tenant=of, lifetime=lifetime)
    lasts = "which does not expire" if lifetime is None else f"valid for {in_words(lifetime)}"
    to.out.answer(
        {"secret": secret, "token": token},
        f"Token {token.id} for {name}, {role} of {token.tenant}, {lasts}.\n"
        f"The secret is shown only once; keep it safe:\n\n  {secret}",
    )


@action(commands, "list", "tenure token list", "tenure token list --json")
def list_tokens(to: Connection) -> None:
    """List tokens. Secrets are not shown."""
    to.out.answer_table(
        to.send(queries.tokens()),
        ("token", "name", "role", "tenant", "created by", "created", "expires", ""),
        lambda token: (
            token.id,
            token.name,
            token.role,
            token.tenant,
            token.created_by,
            ago(token.created_at),
            ago(token.expires_at) or NEVER,
            "revoked" if token.revoked_at else None,
        ),
        "no tokens",
    )


@action(commands, "revoke", "tenure token revoke 3")
def revoke(
    to: Connection,
    number: str = argument("ID", "Id of a token."),
    reason: Reason = None,
) -> None:
    """Revoke a token, at once and permanently."""
    revoked = to.send(control_calls.revoke_token(whole(number, "a token"), reason=reason))
    to.out.answer(revoked, f"Token {revoked.id} of {revoked.name} is revoked.")
