"""Generate the tables of states, transitions and reasons."""

from tenure.domain.lifecycle import TRANSITIONS, Reason, State, Verb, diagram
from tools.blocks import filled, table
from tools.source import fields_of


def life_page(page: str) -> str:
    page = filled(page, "diagram", f"```mermaid\n{diagram().strip()}\n```")
    page = filled(page, "states", _words(State, "state"))
    page = filled(page, "transitions", _transitions())
    return filled(page, "reasons", _words(Reason, "reason"))


def _transitions() -> str:
    rows = [
        (f"**{state}**", *(f"{TRANSITIONS.get((state, verb), '')}" for verb in Verb))
        for state in State
    ]
    return table(("from", *(f"`{verb}`" for verb in Verb)), *rows)


def _words(cls: type[State] | type[Reason], kind: str) -> str:
    rows = [(f"`{cls[field.name]}`", field.meaning) for field in fields_of(cls)]
    return table((kind, ""), *rows)
