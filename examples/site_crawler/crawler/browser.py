"""A real browser, opened for a job and closed with it."""

import shutil
from typing import Any

from tenure import Context
from tenure.resources import BrowserResourceManager

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def chromium() -> str | None:
    """Where Debian and others put it: apt install chromium."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


async def open_page(ctx: Context) -> Any:
    from playwright.async_api import async_playwright

    playwright = await ctx.resources.aenter(async_playwright(), name="playwright")
    browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
    ctx.resources.add(BrowserResourceManager([browser]))
    return await browser.new_page()
