"""A program for each peer. It runs in the peer's own environment, and so knows nothing of ours."""
