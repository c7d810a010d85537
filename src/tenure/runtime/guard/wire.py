"""Messages between keeper and guard: one JSON object per packet, with its descriptors."""

import json
import os
import socket
from collections.abc import Sequence
from typing import Any

from . import system

Message = dict[str, Any]


def send(end: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    system.send_message(end, json.dumps(message).encode(), fds)


def receive(end: socket.socket) -> tuple[Message | None, list[int]]:
    """Return the next message and its descriptors; None if the other end is closed."""
    body, fds, is_incomplete = system.read_message(end)
    if not body:
        return None, fds
    message: Message = json.loads(body)
    message["incomplete"] = is_incomplete
    return message, fds


def write_apart(content: Message) -> int:
    """Return a descriptor of content of any size; an environment may be larger than a packet."""
    fd = system.make_memory("tenure-message")
    with open(os.dup(fd), "wb") as file:  # noqa: PTH123 -- a descriptor is no path
        file.write(json.dumps(content).encode())
    return fd


def read_apart(fd: int) -> Message:
    body = bytearray()
    while chunk := os.pread(fd, 1 << 20, len(body)):
        body += chunk
    content: Message = json.loads(body)
    return content
