"""The REST API and the dashboard. Needs the extra ``web``."""

from tenure.web.app import create_app
from tenure.web.job_stream import stream_response
from tenure.web.limits import RequestLimits

__all__ = ["RequestLimits", "create_app", "stream_response"]
