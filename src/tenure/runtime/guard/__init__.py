"""The guard: a small process between the keeper and its runners.

It is the parent of all runners and inherits what they leave behind. When the keeper dies it
kills them; when the keeper's trust has run out it freezes them, so that no job runs here while
another worker may have started it; when one of them ends it clears away what is left of its tree.

It runs this folder under `python -I -S`, apart from the rest of Tenure: nothing in here may import
more than small parts of the standard library, and among themselves these files import relatively.
"""
