"""Run the demo, and take a picture of what the terminal shows at its end.

Needs tmux and Chromium on PATH.
"""

import io
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from tests.terminal import terminal

from tools.pictures import PICTURES

ROOT = Path(__file__).parent.parent
WIDTH, HEIGHT = 100, 130
_PAGE = """<html><body style="margin: 0; background: {background}"><pre style="margin: 1.2em;
font: 14px/1.35 'DejaVu Sans Mono', monospace; color: {foreground}">{code}</pre></body></html>"""


def main() -> int:
    with terminal(ROOT, {}, WIDTH, HEIGHT) as there:
        there.types(f"clear; PS1=; {sys.executable} -m demo; echo over")
        there.shows("^over$", within=300)
        shown = there.coloured.rpartition("over")[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 900, "height": 400})
        page.set_content(_html(shown))
        page.screenshot(path=PICTURES / "demo.png", full_page=True)
        browser.close()
    return 0


def _html(shown: str) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(shown.strip("\n")))
    return console.export_html(theme=MONOKAI, inline_styles=True, code_format=_PAGE)


if __name__ == "__main__":
    sys.exit(main())
