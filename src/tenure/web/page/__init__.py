"""The page: watch jobs, stop them, and see the proof."""

from tenure.web.page.page import Page
from tenure.web.page.sessions import Sessions

__all__ = ["Page", "Sessions"]
