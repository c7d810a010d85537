from tests.testing.conftest import databases, sandbox

__all__ = ["databases", "sandbox"]
