"""A model for the research agent that holds an answer back until the test lets it go."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from select import select
from typing import Any

TOKENS = 50  # of each answer
QUESTIONS = ("What is it?", "Who needs it?", "What does it cost?")


class ModelServer(ThreadingHTTPServer):
    """Answers every prompt; one that begins with ``held`` waits for `release`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.prompts: list[str] = []  # the first line of each
        self.billed = 0  # tokens of the answers that were sent
        self.open = 0  # requests that were neither answered nor given up
        self.held: str | None = None
        self.is_held = threading.Event()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def forget(self) -> None:
        """Count from here on."""
        self.prompts.clear()
        self.billed = 0

    def hold(self, prompt: str) -> None:
        """Hold the next request back whose prompt begins like this."""
        self.is_held.clear()
        self.released.clear()
        self.held = prompt

    def release(self) -> None:
        self.held = None
        self.released.set()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][0]["content"].splitlines()[0]
        self.server.prompts.append(prompt)
        self.server.open += 1
        try:
            if self._is_wanted(prompt):
                self._answer(prompt)
        finally:
            self.server.open -= 1

    def _is_wanted(self, prompt: str) -> bool:
        """Wait as long as the answer is held; return whether the client is still there."""
        held, self.server.held = self.server.held, None
        if held is None or not prompt.startswith(held):
            self.server.held = held
            return True
        self.server.is_held.set()
        while not self.server.released.wait(0.01):
            if select([self.connection], [], [], 0)[0]:
                return False  # it has closed its connection
        return True

    def _answer(self, prompt: str) -> None:
        text = "\n".join(QUESTIONS) if prompt.startswith("Plan") else f"On {prompt}"
        reply: dict[str, Any] = {
            "choices": [{"message": {"content": text}}],
            "usage": {"total_tokens": TOKENS},
        }
        body = json.dumps(reply).encode()
        self.server.billed += TOKENS
        with suppress(ConnectionError):  # the client was killed meanwhile
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be silent."""


@contextmanager
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.release()
            server.shutdown()
            thread.join()
