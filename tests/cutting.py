"""A proxy before PostgreSQL that cuts a connection at the worst moment."""

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict


class Proxy:
    """Stands between a store and the server, and cuts the connection once when it sees a mark."""

    def __init__(self, folder: Path, url: str) -> None:
        self._server = f"{conninfo_to_dict(url)['host']}/.s.PGSQL.5432"
        self.url = url.replace(str(conninfo_to_dict(url)["host"]), str(folder))
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / ".s.PGSQL.5432"))
        self._door.listen()
        self._mark, self._moment = b"", "after"
        self.on_cut: Callable[[], object] = lambda: None  # called first
        self._threads = [threading.Thread(target=self._welcome)]
        self._threads[0].start()
        self._sockets: list[socket.socket] = []
        self.cuts = 0

    def cut_after_the_answer_to(self, mark: str) -> None:
        self.cut(mark, "after")

    def cut_before_the_question(self, mark: str) -> None:
        self.cut(mark, "before")

    def cut(self, mark: str, moment: str) -> None:
        """Cut before a question, while it is carried out ("during"), or after its answer."""
        self._moment = moment
        self._mark = mark.encode()

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(20)
        for each in (self._door, *self._sockets):
            each.close()

    def _welcome(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.socket(socket.AF_UNIX)
                if server.connect_ex(self._server):  # the server is down
                    client.close()
                    server.close()
                    continue
                self._sockets += [client, server]
                thread = threading.Thread(target=self._carry, args=(client, server))
                self._threads.append(thread)
                thread.start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """Forward bytes both ways as they come, until either end closes or the mark is seen.

        A question may arrive in several pieces, so it is never waited for as a whole.
        """
        answer, is_marked = b"", False
        with suppress(OSError):
            while piece := self._next_piece(client, server):
                source, data = piece
                if source is client:
                    if self._mark and self._mark in data:
                        is_marked = True
                        if self._moment == "before":
                            break
                    server.sendall(data)
                    if is_marked and self._moment == "during":
                        break
                elif is_marked:  # kept back: the client never learns what was committed
                    answer += data
                    if _is_whole(answer):
                        break
                else:
                    client.sendall(data)
            if is_marked:
                self._mark = b""
                self.on_cut()
                self.cuts += 1
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _next_piece(
        self, client: socket.socket, server: socket.socket
    ) -> tuple[socket.socket, bytes] | None:
        readable, _, _ = select.select([client, server], [], [])
        data = readable[0].recv(1 << 20)
        return (readable[0], data) if data else None


def _is_whole(answer: bytes) -> bool:
    """Return whether the answer ends with ReadyForQuery: what the server did is committed."""
    place, kind = 0, b""
    while place + 5 <= len(answer):
        kind = answer[place : place + 1]
        place += 1 + int.from_bytes(answer[place + 1 : place + 5])
    return kind == b"Z" and place == len(answer)
