"""Apps that the tests run in real workers."""
