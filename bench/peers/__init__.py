"""Tenure beside its peers: the same work, the same machine, one run."""
