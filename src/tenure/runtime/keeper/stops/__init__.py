"""Stopping runs: the causes, the ladder, and draining the worker."""
