"""The language model: a fake one that needs no network, or a real one by setting.

``RESEARCH_MODEL_URL`` is the address of any API that takes ``POST /chat/completions``;
``RESEARCH_MODEL`` names the model, and ``RESEARCH_MODEL_KEY`` is sent as its bearer token.
"""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx

CALLS = "RESEARCH_MODEL_CALLS"  # a file to which the fake model writes each prompt


class Throttled(Exception):
    """The model answered 429."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"the model is busy; try again in {retry_after:g} s")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Reply:
    text: str
    tokens: int


async def complete(prompt: str, max_tokens: int) -> Reply:
    """Return what the model answers, and how many tokens that took."""
    url = os.environ.get("RESEARCH_MODEL_URL")
    return await _ask(url, prompt, max_tokens) if url else await _imagine(prompt, max_tokens)


async def _ask(url: str, prompt: str, max_tokens: int) -> Reply:
    key = os.environ.get("RESEARCH_MODEL_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    body = {
        "model": os.environ.get("RESEARCH_MODEL", "default"),
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
    }
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:
        answer = await http.post("chat/completions", json=body, headers=headers)
    if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        raise Throttled(float(answer.headers.get("retry-after", "5")))
    answer.raise_for_status()
    reply = answer.json()
    return Reply(reply["choices"][0]["message"]["content"], reply["usage"]["total_tokens"])


async def _imagine(prompt: str, max_tokens: int) -> Reply:
    _note(prompt.splitlines()[0])
    await asyncio.sleep(0.01)
    text = "\n".join(_imagined(prompt))
    return Reply(text, min(len(prompt.split()) + len(text.split()), max_tokens))


def _note(line: str) -> None:
    if (calls := os.environ.get(CALLS)) is not None:
        with Path(calls).open("a") as file:
            file.write(f"{line}\n")


def _imagined(prompt: str) -> Iterable[str]:
    subject = prompt.splitlines()[0].partition(": ")[2]
    if prompt.startswith("Plan"):
        return [f"What is {subject}?", f"Who needs {subject}?", f"What does {subject} cost?"]
    if prompt.startswith("Answer"):
        return [f"{subject} It depends on the leaves."]
    return [f"# {subject}", "", *prompt.splitlines()[1:]]
