"""Generate the tables of metrics."""

from tenure.observe.series import SERIES, Series, Source
from tools.blocks import filled, table


def metrics_page(page: str) -> str:
    page = filled(page, "series-of-a-tenant", _table(Source.SERVER, Source.API))
    return filled(page, "series-of-a-worker", _table(Source.WORKER))


def _table(*sources: Source) -> str:
    shown = [series for series in SERIES.values() if series.source in sources]
    return table(("series", "kind", "labels", ""), *map(_row, shown))


def _row(series: Series) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in series.labels)
    return f"`{series.name}`", series.kind, labels, series.help
