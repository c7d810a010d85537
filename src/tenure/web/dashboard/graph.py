"""The dependencies of a job as a drawing: jobs in layers, each after those that it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tenure.store.family_results import Dependencies, Dependency, RelatedJob

NODE_WIDTH, NODE_HEIGHT = 190, 46
_GAP_X, _GAP_Y = 70, 14
_SWEEPS = 4


@dataclass(frozen=True)
class Node:
    job: RelatedJob
    x: int
    y: int


@dataclass(frozen=True)
class GraphLink:
    path: str
    policy: str
    needs: int
    job: int


@dataclass(frozen=True)
class Graph:
    nodes: tuple[Node, ...]
    links: tuple[GraphLink, ...]
    width: int
    height: int
    left_out: int  # jobs directly before or after that are not drawn


def graph(job: int, found: Dependencies) -> Graph | None:
    """Return the drawing; none for a job without dependencies."""
    if not found.edges:
        return None
    layers = _ordered(_layers(found.edges), found.edges)
    tallest = max(map(len, layers))
    places = {
        number: (
            column * (NODE_WIDTH + _GAP_X),
            row * (NODE_HEIGHT + _GAP_Y) + (tallest - len(layer)) * (NODE_HEIGHT + _GAP_Y) // 2,
        )
        for column, layer in enumerate(layers)
        for row, number in enumerate(layer)
    }
    known = {related.id: related for related in found.jobs}
    drawn = sum(job in (edge.job_id, edge.needs_id) for edge in found.edges)
    return Graph(
        tuple(Node(known[number], *place) for number, place in places.items() if number in known),
        tuple(_link(edge, places) for edge in found.edges),
        len(layers) * (NODE_WIDTH + _GAP_X) - _GAP_X,
        tallest * (NODE_HEIGHT + _GAP_Y) - _GAP_Y,
        found.needs + found.needed_by - drawn,
    )


def _layers(edges: Sequence[Dependency]) -> list[list[int]]:
    """Return the jobs by the longest way from a job that needs none."""
    needs: dict[int, set[int]] = {}
    for edge in edges:
        needs.setdefault(edge.job_id, set()).add(edge.needs_id)
        needs.setdefault(edge.needs_id, set())
    layers: list[list[int]] = []
    placed: set[int] = set()
    while ready := sorted(job for job in needs if job not in placed and needs[job] <= placed):
        layers.append(ready)
        placed |= set(ready)
    return layers


def _ordered(layers: list[list[int]], edges: Sequence[Dependency]) -> list[list[int]]:
    """Return the layers with each job near the middle of those it is joined with."""
    joined: dict[int, list[int]] = {}
    for edge in edges:
        joined.setdefault(edge.job_id, []).append(edge.needs_id)
        joined.setdefault(edge.needs_id, []).append(edge.job_id)
    rows: dict[int, float] = {job: row for layer in layers for row, job in enumerate(layer)}
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            middles = {job: fmean(rows[other] for other in joined[job]) for job in layer}
            layer.sort(key=middles.__getitem__)
            rows |= {job: row - len(layer) / 2 for row, job in enumerate(layer)}
    return layers


def _link(edge: Dependency, places: Mapping[int, tuple[int, int]]) -> GraphLink:
    (x1, y1), (x2, y2) = places[edge.needs_id], places[edge.job_id]
    begin, y1, y2 = x1 + NODE_WIDTH, y1 + NODE_HEIGHT // 2, y2 + NODE_HEIGHT // 2
    bend = max((x2 - begin) // 2, 20)
    path = f"M{begin} {y1}C{begin + bend} {y1} {x2 - bend} {y2} {x2 - 7} {y2}"
    return GraphLink(path, edge.policy, edge.needs_id, edge.job_id)
