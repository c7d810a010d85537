"""Events, metrics, tracing, logging."""
