"""Tasks as tools of the Model Context Protocol, with a cancel that is confirmed.

``tenure mcp module:app`` serves them; this module does so in a program of your own. Needs the
extra ``mcp``.
"""

from tenure.contrib.mcp.http import http_app
from tenure.contrib.mcp.server import create_server, serve_stdio

__all__ = ["create_server", "http_app", "serve_stdio"]
