"""How far it goes."""

from dataclasses import dataclass

from bench.working import Bench


@dataclass(frozen=True)
class Scale:
    bench: Bench
    workers: tuple[int, ...] = (1, 2, 4, 8)
    tenants: tuple[int, ...] = (1, 10, 100, 1_000)
    finished: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)
    targets: tuple[int, ...] = (1, 10, 100, 1_000, 10_000)
    families: tuple[int, ...] = (10, 100, 1_000, 10_000)
    functions: tuple[int, ...] = (1, 3, 10, 30, 100, 1_000)  # milliseconds
    drained: int = 40_000  # jobs for each point
    of_one_target: int = 300  # of these, at most
    of_targets: int = 20_000
    of_families: int = 20_000
    latencies: int = 50
    settles: float = 10.0  # seconds for a worker to have looked at every tenant
    idle: float = 20.0  # seconds
    pinned: float = 180.0  # seconds
    window: float = 10.0


def quick(bench: Bench) -> Scale:
    return Scale(
        bench,
        workers=(1, 2),
        tenants=(1, 3),
        finished=(1_000, 4_000),
        targets=(1, 100),
        families=(10, 1_000),
        functions=(1, 100),
        drained=3_000,
        of_one_target=50,
        of_targets=2_000,
        of_families=2_000,
        latencies=5,
        settles=1.0,
        idle=2.0,
        pinned=6.0,
        window=2.0,
    )
