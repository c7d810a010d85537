"""An environment for each peer, made once under ``.bench``, from the usual packages."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.figures import console
from bench.peers.listing import Peer
from bench.working import ROOT

FOLDER = ROOT / ".bench"
_READY = ".ready"


@dataclass(frozen=True)
class Environment:
    command: tuple[str, ...]  # that runs the peer's program; its words follow
    env: dict[str, str]
    version: str


class Missing(Exception):
    """What it needs is not on this machine; the message says how to get it."""


def environment(peer: Peer) -> Environment:
    if not peer.packages:
        return Environment(_module(sys.executable, peer), {}, _version(sys.executable, "tenure"))
    folder = FOLDER / peer.program
    made = folder / _READY
    if not made.exists() or made.read_text() != repr(peer.packages):
        console.print(f"installing {', '.join(peer.packages)}")
        shutil.rmtree(folder, ignore_errors=True)
        (_install_node if peer.runs_on == "node" else _install_python)(peer, folder)
        made.write_text(repr(peer.packages))
    main = peer.packages[0].partition("[")[0].partition("=")[0]
    if peer.runs_on == "node":
        program = ROOT / "bench" / "peers" / "programs" / "node" / f"{peer.program}.js"
        modules = folder / "node_modules"
        version = json.loads((modules / main / "package.json").read_text())["version"]
        return Environment(("node", str(program)), {"NODE_PATH": str(modules)}, version)
    python = str(folder / "bin" / "python")
    return Environment(_module(python, peer), {}, _version(python, main))


def _module(python: str, peer: Peer) -> tuple[str, ...]:
    return python, "-m", f"bench.peers.programs.{peer.program}"


def _install_python(peer: Peer, folder: Path) -> None:
    python = _python(peer)
    _run([python, "-m", "venv", str(folder)])
    inside = str(folder / "bin" / "python")
    _run([inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", *peer.packages])


def _python(peer: Peer) -> str:
    if peer.runs_on == "python":
        return sys.executable
    candidates = (shutil.which(peer.runs_on), *sorted(_of_pyenv(peer.runs_on)))
    for python in filter(None, candidates):
        if subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0:  # noqa: S603
            return python
    raise Missing(f"{peer.title} needs {peer.runs_on}, which is not here")


def _of_pyenv(name: str) -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return [str(python) for python in root.glob(f"versions/*/bin/{name}")]


def _install_node(peer: Peer, folder: Path) -> None:
    if shutil.which("npm") is None:
        raise Missing(f"{peer.title} needs Node.js (apt install nodejs npm)")
    folder.mkdir(parents=True)
    _run(["npm", "install", "--silent", "--prefix", str(folder), *peer.packages])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise Missing(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")


def _version(python: str, package: str) -> str:
    ask = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run(  # noqa: S603
        [python, "-c", ask], capture_output=True, text=True, check=True, cwd="/"
    ).stdout.strip()
