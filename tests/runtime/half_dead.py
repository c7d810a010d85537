"""Programs whose main thread has ended while another thread keeps writing."""

from pathlib import Path

# Ends the calling thread alone; by this way nothing of the interpreter is wound up.
END_THIS_THREAD = """
import ctypes, platform
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""

# Writes a line every few milliseconds to the file that is given, for ever.
WRITER = f"""
import os, sys, threading, time
path = sys.argv[1]
def write():
    while open(f"/proc/{{os.getpid()}}/stat").read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.002)
    while True:
        with open(path, "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        time.sleep(0.005)
threading.Thread(target=write).start()
{END_THIS_THREAD}
"""


def states_of_threads(pid: int) -> set[str]:
    """The states of all threads of a process, as the kernel lists them; empty if it is gone."""
    found = set()
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found.add((thread / "stat").read_text().rpartition(")")[2].split()[0])
    except OSError:  # one of them, or all, ended meanwhile
        pass
    return found


def runs(pid: int) -> bool:
    return bool(states_of_threads(pid) - set("ZX"))
