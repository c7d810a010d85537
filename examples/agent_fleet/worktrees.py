"""Git worktrees beside a repository, made once and used again and again."""

import subprocess
from collections.abc import Sequence
from pathlib import Path


class Worktrees:
    def __init__(self, repository: str | Path) -> None:
        self._repository = Path(repository)

    def create_repository(self) -> None:
        """Create the repository with one empty commit, unless it exists."""
        if not self._repository.exists():
            self._repository.mkdir(parents=True)
            self._git("init", "--quiet", "--initial-branch", "main")
            self._git("commit", "--quiet", "--allow-empty", "--message", "Start the project")

    def create(self, names: Sequence[str]) -> None:
        """Create a worktree for each name that has none."""
        for name in names:
            if not self._place(name).exists():
                self._git("worktree", "add", "--quiet", "--detach", str(self._place(name)))

    def clean(self, name: str, branch: str) -> Path:
        """Put a worktree on a fresh branch, whatever the last agent left in it."""
        tree = self._place(name)
        _git(tree, "reset", "--quiet", "--hard")
        _git(tree, "clean", "--quiet", "-fdx")
        _git(tree, "checkout", "--quiet", "--force", "-B", branch, "main")
        return tree

    def commit(self, tree: Path, message: str) -> None:
        """Commit everything, and leave the branch so that another worktree can use it."""
        _git(tree, "add", "--all")
        _git(tree, "commit", "--quiet", "--message", message)
        _git(tree, "checkout", "--quiet", "--detach")

    def forget(self, branch: str) -> None:
        if branch in self.branches():
            self._git("branch", "--quiet", "-D", branch)

    def branches(self) -> list[str]:
        return self._git("branch", "--format=%(refname:short)").split()

    def _place(self, name: str) -> Path:
        return self._repository.with_name(f"{self._repository.name}-{name}").absolute()

    def _git(self, *args: str) -> str:
        return _git(self._repository, *args)


def _git(folder: Path, *args: str) -> str:
    user = ["-c", "user.name=agent", "-c", "user.email=agent@localhost"]
    done = subprocess.run(  # noqa: S603
        ["git", "-C", str(folder), *user, *args],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
