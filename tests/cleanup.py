"""The report of a clean-up, as every kind of end writes it."""

KEYS = [
    "cleanup_started_at",
    "cleanup_completed_at",
    "cleanup_duration_seconds",
    "graceful_close_succeeded",
    "force_closed",
    "total_resources",
    "cancelled_by",
    "cancellation_reason",
    "job_status_updated",
    "job_cancelled_at",
    "failed",
]
