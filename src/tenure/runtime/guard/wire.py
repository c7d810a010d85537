"""Messages between keeper and guard: one JSON object a packet, with descriptors beside it."""

import json
import os
import socket
from collections.abc import Sequence
from typing import Any

LARGEST = 128 * 1024
MOST_FDS = 200

Message = dict[str, Any]


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends that keep the borders of messages, so that descriptors stay with theirs."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(end: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    socket.send_fds(end, [json.dumps(message).encode()], fds)


def receive(end: socket.socket) -> tuple[Message | None, list[int]]:
    """The next message and its descriptors; None at the end."""
    body, fds, flags, _ = socket.recv_fds(end, LARGEST, MOST_FDS, socket.MSG_CMSG_CLOEXEC)
    if not body:
        return None, fds
    message: Message = json.loads(body)
    # Descriptors are dropped on the way when this process may have no more of them.
    message["incomplete"] = bool(flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC))
    return message, fds


def write_apart(content: Message) -> int:
    """A descriptor that carries content of any size; environments may be larger than a packet."""
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
