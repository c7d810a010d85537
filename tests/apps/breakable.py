"""An app whose module can be broken while its worker runs."""

import os
from pathlib import Path

from tenure import Tenure

if (Path(os.environ.get("TENURE_TEST_FOLDER", ".")) / "broken").exists():
    raise RuntimeError("the deployment went wrong")

app = Tenure()


@app.task
def work() -> str:
    return "done"
