"""``python -m examples.rag_pipeline build URL`` or ``search QUESTION``."""

import sys

from examples.rag_pipeline import index
from examples.rag_pipeline.pipeline import app, build, search


def main(verb: str, about: str) -> None:
    index.prepare(app.url)
    if verb == "search":
        sys.stdout.write("".join(f"{url}\n" for url in search(about)))
    else:
        sys.stdout.write(f"{build.enqueue(about).result()}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("build", "search"):
        sys.exit(f"{__doc__}")
    with app:
        main(*sys.argv[1:])
