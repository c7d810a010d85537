"""Code that leaves processes, by every way to start one."""

import asyncio
import ctypes
import multiprocessing
import os
import platform
import pty
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor

from tests.apps.hostile.beats import AT_MOST, Here, beat, beat_for_ever, close_output
from tests.apps.hostile.kinds import EVERYWHERE, IN_PYTHON, KEPT, kind

_LIBC = ctypes.CDLL(None, use_errno=True)
_EXIT_OF_ONE_THREAD = {"x86_64": 60, "aarch64": 93}[platform.machine()]  # a system call


def _in_child(here: Here) -> None:
    """Beat in a forked child, and never return into the code of the runner."""
    try:
        close_output()
        beat_for_ever(here.beats)
    finally:
        os._exit(0)


@kind("processes", EVERYWHERE, attributed=True)
def os_system(here: Here) -> None:
    """os.system with an ampersand."""
    os.system(f"{here.shell_beater()} &")


@kind("processes", EVERYWHERE)
def os_system_nohup(here: Here) -> None:
    """os.system with nohup, output redirected."""
    os.system(f"nohup {here.shell_beater()} >/dev/null 2>&1 &")


@kind("processes", EVERYWHERE)
def os_system_setsid(here: Here) -> None:
    """os.system with setsid in nested background subshells."""
    os.system(f"( ( setsid {here.shell_beater('deaf')} & ) & )")


@kind("processes", EVERYWHERE, attributed=True)
def posix_spawn(here: Here) -> None:
    """os.posix_spawn."""
    argv = here.beater()
    os.posix_spawn(argv[0], argv, os.environ)


@kind("processes", EVERYWHERE, attributed=True)
def posix_spawnp_setsid(here: Here) -> None:
    """os.posix_spawnp with setsid and an empty environment."""
    argv = here.beater()
    os.posix_spawnp(argv[0], argv, {}, setsid=True)


@kind("processes", EVERYWHERE, attributed=True)
def fork_setsid(here: Here) -> None:
    """os.fork, then setsid."""
    if os.fork() == 0:
        os.setsid()
        _in_child(here)


@kind("processes", EVERYWHERE)
def double_fork(here: Here) -> None:
    """A daemon by double fork, without exec."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            _in_child(here)
        os._exit(0)
    os.waitpid(child, 0)


@kind("processes", EVERYWHERE)
def double_fork_exec_cleared(here: Here) -> None:
    """A daemon by double fork that clears its environment with exec."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            argv = here.beater("deaf")
            os.execve(argv[0], argv, {})
        os._exit(0)
    os.waitpid(child, 0)


@kind("processes", IN_PYTHON)
def mark_of_nobody(here: Here) -> None:
    """A daemon that carries the mark of an attempt that never was."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            argv = here.beater("deaf")
            os.execve(argv[0], argv, {"TENURE_ATTEMPT": "99999999"})
        os._exit(0)
    os.waitpid(child, 0)


@kind("processes", EVERYWHERE, attributed=True)
def popen_cleared_session(here: Here) -> None:
    """subprocess.Popen with an empty environment in a session of its own."""
    KEPT.append(subprocess.Popen(here.beater(), env={}, start_new_session=True))


@kind("processes", EVERYWHERE, attributed=True)
def popen_deaf(here: Here) -> None:
    """subprocess.Popen of a program that ignores SIGTERM, SIGHUP and SIGINT."""
    KEPT.append(subprocess.Popen(here.beater("deaf")))


@kind("processes", IN_PYTHON, attributed=True)
def popen_preexec(here: Here) -> None:
    """subprocess.Popen with a preexec_fn."""
    KEPT.append(subprocess.Popen(here.beater(), preexec_fn=os.setsid))


@kind("processes", EVERYWHERE, attributed=True)
def spawnv_nowait(here: Here) -> None:
    """os.spawnv with P_NOWAIT."""
    argv = here.beater()
    os.spawnv(os.P_NOWAIT, argv[0], argv)


@kind("processes", EVERYWHERE)
def pty_fork(here: Here) -> None:
    """pty.fork with a child that ignores SIGHUP."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _in_child(here)
    KEPT.append(terminal)


@kind("processes", EVERYWHERE)
def forkpty_exec(here: Here) -> None:
    """os.forkpty, then exec with an empty environment."""
    pid, terminal = os.forkpty()
    if pid == 0:
        argv = here.beater("deaf")
        os.execve(argv[0], argv, {})
    KEPT.append(terminal)


@kind("processes", EVERYWHERE, attributed=True)
def os_popen(here: Here) -> None:
    """os.popen that is never read."""
    KEPT.append(os.popen(here.shell_beater()))


@kind("processes", ("async",), attributed=True)
async def asyncio_exec(here: Here) -> None:
    """asyncio.create_subprocess_exec that is never awaited."""
    KEPT.append(await asyncio.create_subprocess_exec(*here.beater()))


@kind("processes", ("async",), attributed=True)
async def asyncio_shell(here: Here) -> None:
    """asyncio.create_subprocess_shell with a background job."""
    KEPT.append(await asyncio.create_subprocess_shell(f"{here.shell_beater()} &"))


def _multiprocess(here: Here, method: str, daemon: bool) -> None:
    context = multiprocessing.get_context(method)
    process = context.Process(target=beat_for_ever, args=(here.beats,), daemon=daemon)  # type: ignore[attr-defined]
    process.start()
    KEPT.append(process)


@kind("processes", IN_PYTHON, attributed=True)
def multiprocessing_fork(here: Here) -> None:
    """multiprocessing.Process by fork."""
    _multiprocess(here, "fork", daemon=False)


@kind("processes", IN_PYTHON, attributed=True)
def multiprocessing_fork_daemon(here: Here) -> None:
    """multiprocessing.Process by fork, as a daemon."""
    _multiprocess(here, "fork", daemon=True)


@kind("processes", IN_PYTHON)
def multiprocessing_spawn(here: Here) -> None:
    """multiprocessing.Process by spawn."""
    _multiprocess(here, "spawn", daemon=False)


@kind("processes", IN_PYTHON)
def multiprocessing_forkserver(here: Here) -> None:
    """multiprocessing.Process by forkserver."""
    _multiprocess(here, "forkserver", daemon=False)


@kind("processes", EVERYWHERE)
def leapfrog(here: Here) -> None:
    """A process that forks its successor and exits, faster than a list of processes is read."""
    if os.fork() == 0:
        close_output()
        os.setsid()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            beat(here.beats)
            if os.fork():
                os._exit(0)
            time.sleep(0.005)
        os._exit(0)


@kind("processes", EVERYWHERE)
def fork_storm(here: Here) -> None:
    """Processes that fork faster than they are killed, at most 40 at a time."""
    if os.fork() == 0:
        close_output()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            children = 0
            while children < 40:
                children += 1
                if os.fork() == 0:
                    os.setsid()
                    beat(here.beats)
                    time.sleep(0.2)
                    os._exit(0)
                time.sleep(0.004)
            while children:
                os.wait()
                children -= 1
        os._exit(0)


@kind("processes", EVERYWHERE)
def supervisor(here: Here) -> None:
    """A supervisor that starts its child again whenever that is killed."""
    if os.fork() == 0:
        close_output()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            subprocess.run(here.beater(), env={}, check=False)
        os._exit(0)


@kind("processes", EVERYWHERE)
def ctypes_fork(here: Here) -> None:
    """libc's fork by ctypes, past every hook of Python."""
    if ctypes.PyDLL(None).fork() == 0:  # which keeps the interpreter's lock
        argv = here.beater("deaf")
        os.execve(argv[0], argv, {})


@kind("processes", EVERYWHERE)
def ctypes_system(here: Here) -> None:
    """libc's system by ctypes with an ampersand."""
    _LIBC.system(f"{here.shell_beater()} &".encode())


@kind("processes", EVERYWHERE)
def ctypes_posix_spawn(here: Here) -> None:
    """libc's posix_spawn by ctypes with an empty environment."""
    argv = [part.encode() for part in here.beater()]
    pid = ctypes.c_int()
    array = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
    nothing = (ctypes.c_char_p * 1)(None)
    assert _LIBC.posix_spawn(ctypes.byref(pid), argv[0], None, None, array, nothing) == 0


@kind("processes", EVERYWHERE, attributed=True)
def leader_ended(here: Here) -> None:
    """A process whose main thread has ended while another thread runs: the kernel shows Z."""
    if os.fork() == 0:
        close_output()
        threading.Thread(target=beat_for_ever, args=(here.beats,)).start()
        here.wait_for_beats()
        _LIBC.syscall(_EXIT_OF_ONE_THREAD, 0)
    here.wait_for_beats()
    time.sleep(0.02)


@kind("processes", EVERYWHERE)
def leader_ended_daemon(here: Here) -> None:
    """A daemon by double fork whose main thread has ended."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            close_output()
            threading.Thread(target=beat_for_ever, args=(here.beats,)).start()
            here.wait_for_beats()
            _LIBC.syscall(_EXIT_OF_ONE_THREAD, 0)
        os._exit(0)
    os.waitpid(child, 0)
    here.wait_for_beats()
    time.sleep(0.02)


@kind("processes", IN_PYTHON)
def process_by_thread(here: Here) -> None:
    """A process that was started by a thread, which has ended."""
    thread = threading.Thread(target=posix_spawnp_setsid, args=(here,))
    thread.start()
    thread.join()


def _start_and_return(argv: list[str]) -> None:
    subprocess.Popen(argv, env={}, start_new_session=True)


@kind("processes", ("async", "process"))
def process_by_pool_worker(here: Here) -> None:
    """A process that was started by a worker of a ProcessPoolExecutor."""
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    KEPT.append(pool)
    pool.submit(_start_and_return, here.beater("deaf")).result()


@kind("processes", ("async", "process"))
def process_pool_item(here: Here) -> None:
    """A work item of a ProcessPoolExecutor that never ends."""
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    KEPT.append(pool)
    pool.submit(beat_for_ever, here.beats)


@kind("processes", EVERYWHERE)
def subreaper(here: Here) -> None:
    """A process that adopts its own orphans, so that they never become the runner's."""
    if os.fork() == 0:
        close_output()
        _LIBC.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        os.setsid()
        double_fork_exec_cleared(here)
        time.sleep(AT_MOST)
        os._exit(0)


@kind("processes", EVERYWHERE, attributed=True)
def stopped_itself(here: Here) -> None:
    """A process that beats once and stops itself with SIGSTOP."""
    if os.fork() == 0:
        close_output()
        beat(here.beats)
        os.kill(os.getpid(), signal.SIGSTOP)
        _in_child(here)


@kind("processes", IN_PYTHON, beats=False)
def no_subreaper(here: Here) -> None:
    """A daemon after the runner was told to adopt no orphans any more."""
    _LIBC.prctl(36, 0, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    double_fork_exec_cleared(here)


@kind("processes", EVERYWHERE)
def lying_name(here: Here) -> None:
    """A daemon with a name that looks like the state of a dead process."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            _LIBC.prctl(15, b"a) Z 1 1 1", 0, 0, 0)  # PR_SET_NAME
            _LIBC.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
            _in_child(here)
        os._exit(0)
    os.waitpid(child, 0)


@kind("processes", EVERYWHERE)
def interpreter_daemon(here: Here) -> None:
    """A shell that starts a shell that starts a daemon, each with another environment."""
    subprocess.run(["env", "-i", "sh", "-c", f"setsid {here.shell_beater()} &"], check=True)
    assert sys.executable
