"""Where the code of a running job is, and what its processes take, whatever it does."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tenure.domain.inspection import Inspection, Stack
from tenure.errors import IllegalTransition, NotAnswered
from tests.apps import looked
from tests.system.stage import Jobs, Stage, runners_of, staged
from tests.workers import eventually

SECRET = "nobody-is-shown-this"
FILE = str(Path(looked.__file__))


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(looked.app, shared_database, folder, "looked") as stage:
        yield stage


@pytest.fixture
def begun(stage: Stage) -> Iterator[Any]:
    """Jobs that run, and are gone afterwards."""
    handles: list[Jobs] = []

    def begin(task: Any, *args: Any) -> Jobs:
        handles.append(stage.start(task, *args))
        return handles[-1]

    yield begin
    for handle in handles:
        stage.stop(handle, force=True)


def look(handle: Jobs) -> Inspection:
    seen = handle.inspect(timeout="40s")
    assert seen.answered_at is not None
    assert SECRET not in repr(seen)
    return seen


def innermost(stack: Stack) -> tuple[str, str, str]:
    """Where it is in the code of the job: file, function and line."""
    frame = [frame for frame in stack.frames if frame.file == FILE][-1]
    return frame.file, frame.function, frame.code


def named(seen: Inspection) -> dict[str, Stack]:
    return {stack.name: stack for stack in seen.stacks}


def test_a_coroutine_its_tasks_its_threads_and_its_processes(begun: Any, stage: Stage) -> None:
    neighbour = begun(looked.sleeps)
    seen = look(begun(looked.sleeps, SECRET))
    stacks = named(seen)
    own = stacks["its coroutine"]
    assert own.frames[0].function == "sleeps", "of the runner around it nothing is shown"
    assert innermost(own)[2].startswith("await asyncio.gather(beside")
    assert innermost(stacks["task beside"]) == (FILE, "waits", "await asyncio.sleep(seconds)")
    assert stacks["task beside"].frames[-1].function == "sleep"
    assert innermost(stacks["its thread"]) == (FILE, "napping", "time.sleep(NEVER)")
    runner, child = seen.processes
    assert runner.pid in runners_of(stage.worker)
    assert (child.name, child.state) == ("sleep", "sleeping")
    assert psutil.Process(child.pid).ppid() == runner.pid
    assert runner.memory > child.memory > 0
    assert f"pid {runner.pid} is shared by jobs; running in it now: 2" in seen.notes
    [_, other] = look(neighbour).processes
    assert other.pid != child.pid, "what a neighbour started is not its own"


@pytest.mark.parametrize(
    ("name", "code"), [("blocks", "time.sleep(NEVER)"), ("hogs_its_loop", "hog()")]
)
def test_a_coroutine_that_holds_its_event_loop(begun: Any, name: str, code: str) -> None:
    neighbour = begun(looked.sleeps)
    handle = begun(getattr(looked, name))
    seen = look(handle)
    [stack] = seen.stacks
    assert (stack.frames[0].function, stack.frames[0].code) == (name, code)
    assert "it holds its event loop" in seen.notes
    [runner] = seen.processes
    used = psutil.Process(runner.pid).cpu_times()
    assert 0 <= runner.cpu_seconds <= used.user + used.system
    beside = look(neighbour)
    assert beside.stacks == (), "a stack of its neighbour is not its own"
    assert f"job {handle.id} holds the event loop that it shares" in beside.notes[0]


def test_a_function_in_a_process_of_its_own(begun: Any, stage: Stage) -> None:
    seen = look(begun(looked.function, SECRET))
    assert list(named(seen)) == ["its function", "thread beside"]
    own = named(seen)["its function"]
    [frame] = own.frames
    assert (frame.file, frame.function, frame.code) == (FILE, "function", "time.sleep(NEVER)")
    assert innermost(named(seen)["thread beside"])[1] == "napping"
    assert [process.name for process in seen.processes][1:] == ["sleep"]
    assert seen.processes[0].pid in runners_of(stage.worker)


def test_c_code_that_keeps_the_lock_is_seen_all_the_same(begun: Any) -> None:
    handle = begun(looked.function_hogs)
    seen = look(handle)
    [stack] = seen.stacks
    assert [(frame.function, frame.code) for frame in stack.frames] == [
        ("function_hogs", "hog()"),
        ("hog", "deque(itertools.repeat(0), maxlen=0)"),
    ]
    assert "holds the interpreter's lock" in seen.notes[0]
    assert seen.processes[0].state == "running"
    before = seen.processes[0].cpu_seconds
    eventually(lambda: look(handle).processes[0].cpu_seconds > before, "it takes CPU")


def test_where_nothing_can_be_seen_a_sentence_says_so(begun: Any) -> None:
    seen = look(begun(looked.function_hogs_alone))
    assert seen.stacks == ()
    assert seen.notes[0] == "it did not answer in time; look again"
    assert seen.processes[0].cpu_seconds > 0


def test_a_function_in_a_thread(begun: Any) -> None:
    seen = look(begun(looked.thread, SECRET))
    [stack] = seen.stacks
    assert stack.name == "its thread"
    assert [frame.function for frame in stack.frames] == ["thread"]


def test_a_thread_that_keeps_the_lock_gives_cpu_and_memory(begun: Any) -> None:
    seen = look(begun(looked.thread_hogs))
    assert seen.stacks == ()
    assert "holds the interpreter's lock" in seen.notes[0]
    assert seen.processes[0].memory > 0


def test_a_program_is_seen_as_its_tree(stage: Stage) -> None:
    handle = looked.program.enqueue()

    def tree() -> list[str]:
        try:
            return [process.name for process in handle.inspect(timeout="40s").processes][1:]
        except IllegalTransition:
            return []

    eventually(lambda: tree() == ["sh", "sleep", "sleep"], "its tree")
    stage.stop(handle, force=True)


def test_the_processes_that_a_stop_has_ended_are_on_record(stage: Stage) -> None:
    handle = stage.start(looked.function)
    pids = {process.pid for process in look(handle).processes}
    record = stage.stop(handle, force=True)
    [member] = record.members
    assert (set(member.pids), member.processes) == (pids, len(pids))
    assert not any(map(stage.is_alive, pids))


def test_a_look_ends_with_the_attempt(stage: Stage) -> None:
    handle = stage.start(looked.sleeps)
    look(handle)
    stage.stop(handle, force=True)
    with pytest.raises(IllegalTransition, match="cannot inspect a job that is cancelled"):
        handle.inspect()
    assert stage.store.inspection(handle.id) is None


def test_a_worker_that_stands_still_is_not_waited_for(begun: Any, stage: Stage) -> None:
    handle = begun(looked.sleeps)
    keeper = psutil.Process(stage.worker.pid)
    keeper.suspend()
    try:
        began = time.monotonic()
        with pytest.raises(NotAnswered, match="has not answered within"):
            handle.inspect(timeout="200ms")
        assert time.monotonic() - began < 30
    finally:
        keeper.resume()
    assert look(handle).stacks, "it answers when it is back"
