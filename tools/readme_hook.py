"""Build hook: the README of the package index, where relative links and pictures lead nowhere."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def absolute(text: str, repository: str, ref: str) -> str:
    """Return Markdown whose relative links and pictures are URLs of the repository."""
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/")

    def link(found: re.Match[str]) -> str:
        picture, label, target = found.groups()
        base = f"{raw}/{ref}" if picture else f"{repository}/blob/{ref}"
        return f"{picture}[{label}]({base}/{target})"

    return _LINK.sub(link, text)


class ReadmeHook(MetadataHookInterface):
    """Set the readme, with links to the tag of the version."""

    def update(self, metadata: dict[str, object]) -> None:
        urls = metadata["urls"]
        assert isinstance(urls, dict)
        text = (Path(self.root) / "README.md").read_text()
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, urls["Source"], f"v{version(Path(self.root))}"),
        }


def version(root: Path) -> str:
    """Return the version of the source."""
    text = (root / "src" / "tenure" / "__init__.py").read_text()
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]
