"""The guard: a small process between the keeper and its runners.

It is the parent of all runners and inherits their orphans. When the keeper dies, it kills them.
When the keeper's trust has expired, it freezes them, so that no job runs here while another worker
may have started it. When a runner ends, it kills what is left of the runner's tree.

It runs this folder under `python -I -S`, without the rest of Tenure: files in here import only
small parts of the standard library, and one another by relative imports.
"""
