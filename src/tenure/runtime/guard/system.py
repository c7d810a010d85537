"""The operating system as a worker needs it: Linux, or any POSIX system.

``TENURE_PORTABLE=1`` chooses the latter, for development on macOS. It promises less, see
docs/how-to/macos.md.
"""
# ruff: noqa: F403

import os

PORTABLE = os.environ.get("TENURE_PORTABLE") == "1"

if PORTABLE:
    from .portable import *
else:
    from .linux import *  # type: ignore[assignment]
