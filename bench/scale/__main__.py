"""Measure how cost grows with the work: ``python -m bench.scale [--only PART] [--quick]``.

Every curve is measured in one run. What was found is kept as JSON; from that the drawings and
docs/scale.md are made.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psycopg

from bench import server
from bench.figures import console
from bench.measuring import worked
from bench.peers.report import machine
from bench.scale.curves import Curve, Run
from bench.scale.families import grow_families
from bench.scale.functions import lengthen_functions
from bench.scale.page import write
from bench.scale.sizes import Scale, quick
from bench.scale.snapshots import pin_a_snapshot
from bench.scale.tables import grow_tables
from bench.scale.targets import grow_targets
from bench.scale.tenants import grow_tenants
from bench.scale.workers import grow_workers
from bench.working import Amounts

PARTS: Mapping[str, Callable[[Scale], Iterator[Curve]]] = {
    "workers": grow_workers,
    "functions": lengthen_functions,
    "targets": grow_targets,
    "families": grow_families,
    "tables": grow_tables,
    "snapshot": pin_a_snapshot,
    "tenants": grow_tenants,
}
KEPT = Path(".bench") / "scale.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure just this part")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="also write the page")
    args = parser.parse_args()
    sizes = server.QUICK if args.quick else server.Sizes()
    with worked(sizes, Amounts()) as bench:
        run = Run(datetime.now(UTC).date().isoformat(), machine(), _server(bench.server))
        scale = quick(bench) if args.quick else Scale(bench)
        for part in args.only or PARTS:
            for curve in PARTS[part](scale):
                run.curves.append(curve)
                _tell(curve)
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(run)))
    console.print(f"kept in {KEPT}")
    if args.write:
        write(run, args.write)
    return 0


def _server(there: server.Server) -> str:
    with psycopg.connect(there.url) as connection:
        version = connection.info.server_version
    return f"PostgreSQL {version // 10000}.{version % 10000} ({there.settings})"


def _tell(curve: Curve) -> None:
    sys.stdout.write(msgspec.json.encode(curve).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
