"""Git worktrees beside a repository, made once and used again and again."""

import subprocess
from pathlib import Path

from tenure.store.store import Store


class Worktrees:
    def __init__(self, repository: str | Path) -> None:
        self._repository = Path(repository)

    def make(self, store: Store, count: int) -> None:
        """The worktrees, and the pool whose slots they are."""
        names = [f"tree-{number}" for number in range(count)]
        for name in names:
            self._git("worktree", "add", "--detach", str(self._place(name)))
        store.create_pool("worktree", names)

    def clean(self, name: str, branch: str) -> Path:
        """The worktree of a slot on a fresh branch, whatever the last agent left in it."""
        tree = self._place(name)
        _git(tree, "reset", "--quiet", "--hard")
        _git(tree, "clean", "--quiet", "-fdx")
        _git(tree, "checkout", "--quiet", "--force", "-B", branch, "main")
        return tree

    def commit(self, tree: Path, message: str) -> str:
        _git(tree, "add", "--all")
        _git(tree, "commit", "--quiet", "--message", message)
        commit = _git(tree, "rev-parse", "HEAD").strip()
        _git(tree, "checkout", "--quiet", "--detach")  # the branch is free for whoever wants it
        return commit

    def patch(self, tree: Path) -> str:
        return _git(tree, "show", "--format=%s", "HEAD")

    def forget(self, branch: str) -> None:
        if branch in self.branches():
            self._git("branch", "--quiet", "-D", branch)

    def branches(self) -> list[str]:
        return self._git("branch", "--format=%(refname:short)").split()

    def _place(self, name: str) -> Path:
        return self._repository.with_name(f"{self._repository.name}-{name}")

    def _git(self, *args: str) -> str:
        return _git(self._repository, *args)


def _git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=agent", "-c", "user.email=agent@localhost"]
    done = subprocess.run(  # noqa: S603
        ["git", "-C", str(folder), *who, *args],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
