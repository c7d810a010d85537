"""Messages between keeper and guard: one JSON object per packet, with its descriptors."""

import json
import os
import socket
from collections.abc import Sequence
from typing import Any

MAX_BYTES = 128 * 1024
MAX_FDS = 200

Message = dict[str, Any]


def pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets that keep message boundaries and descriptors together."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(end: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    socket.send_fds(end, [json.dumps(message).encode()], fds)


def receive(end: socket.socket) -> tuple[Message | None, list[int]]:
    """Return the next message and its descriptors; None if the other end is closed."""
    body, fds, flags, _ = socket.recv_fds(end, MAX_BYTES, MAX_FDS, socket.MSG_CMSG_CLOEXEC)
    if not body:
        return None, fds
    message: Message = json.loads(body)
    # The kernel drops descriptors when this process has reached its limit.
    message["incomplete"] = bool(flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC))
    return message, fds


def write_apart(content: Message) -> int:
    """Return a descriptor of content of any size; an environment may be larger than a packet."""
    fd = os.memfd_create("tenure-message")
    with open(os.dup(fd), "wb") as file:  # noqa: PTH123 -- a descriptor is no path
        file.write(json.dumps(content).encode())
    return fd


def read_apart(fd: int) -> Message:
    body = bytearray()
    while chunk := os.pread(fd, 1 << 20, len(body)):
        body += chunk
    content: Message = json.loads(body)
    return content
