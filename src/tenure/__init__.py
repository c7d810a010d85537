"""Tenure: a job orchestrator for Python on PostgreSQL."""
