"""``python -m tenure`` is the command ``tenure``."""

from tenure.cli.main import run

if __name__ == "__main__":
    run()
