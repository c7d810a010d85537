"""The user that PostgreSQL runs as; it refuses to run as root."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.errors import EmbeddedUnavailable
from tenure.store.embedded.binaries import Binaries

ROOT = 0
_SUBSTITUTES = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int
    prefix: tuple[str, ...] = ()

    def run(
        self,
        command: Sequence[str | Path],
        *,
        output: int = subprocess.PIPE,
        given: str = "",
        keep: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in its own session and environment; `keep` lists inherited files."""
        other = self.uid != os.geteuid()
        return subprocess.run(  # noqa: S603
            [*self.prefix, *command],
            check=False,
            input=given,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            env=_environment(),
            start_new_session=True,
            pass_fds=keep,
            umask=0o077,
            user=self.uid if other else None,
            group=self.gid if other else None,
            extra_groups=() if other else None,
        )

    def may_use(self, *paths: Path) -> bool:
        checks = " && ".join(f'test -x "${number}"' for number in range(1, len(paths) + 1))
        return self.run(["/bin/sh", "-c", checks, "sh", *paths]).returncode == 0


def account_for(folder: Path, binaries: Binaries) -> Account:
    """Return the current user; for root, the owner of the data or a user that can reach it."""
    if os.geteuid() != ROOT:
        return Account(os.geteuid(), os.getegid())
    data = folder / "data"
    if data.exists() and (owner := data.stat()).st_uid != ROOT:
        return Account(owner.st_uid, owner.st_gid)
    if not data.exists():
        for name in _SUBSTITUTES:
            account = _named(name)
            if account and account.may_use(folder, binaries.folder / "postgres"):
                return account
    masked = _masked_root()
    if masked:
        return masked
    raise EmbeddedUnavailable(
        f"PostgreSQL refuses to run as root, and no other user can reach both {folder} "
        f"and {binaries.folder}: move them out of private folders, or run as another user"
    )


def _named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


def _masked_root() -> Account | None:
    """Return root without its powers: in its own user namespace it sees itself as user 1.

    Its files belong to root, so it works where no other user may enter, such as in /root.
    Containers often forbid this.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    prefix = (unshare, "--user", "--map-user=1", "--map-group=1", "--")
    account = Account(ROOT, os.getegid(), prefix)
    return account if account.run(["/bin/sh", "-c", "true"]).returncode == 0 else None


def _environment() -> dict[str, str]:
    # TZ saves initdb a search through all time zones; PG* would redirect the programs.
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "LC_", "LANG"))
    }
    return kept | {"LC_ALL": "C", "TZ": "UTC"}
