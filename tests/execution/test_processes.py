"""Programs that really run: how they start, what bounds them, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.execution import supervisor
from engine.execution.sandboxes import Limits, ProgramNotFound, Start
from tests.execution.programs import DEADLINE_S, NUMBERS, Ended, Runner, alive, ended, made, new_mark, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.execution.sandboxes import Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


# -- what a program gets, and what is told of its end ------------------------------------------------------------------


def test_a_program_has_its_directory_streams_and_exit_code(node: Runner) -> None:
    assert node.run("sh -c 'pwd; echo wrong >&2; exit 3'") == Ended(
        3, f"{node.root}/task-{next(NUMBERS) - 1}\n", "wrong\n"
    )
    assert node.run("cat") == Ended(0, "", "")


def test_the_environment_is_what_is_given_and_nothing_else(node: Runner) -> None:
    node.environment["ODD"] = 'a "quoted"\nline = \udcff'
    running, out, _ = node.start("env -0 -u PWD")
    assert ended(running) == 0
    assert sorted(out.read_bytes().split(b"\0")) == sorted(
        [b"", b"GREETING=good morning", b'ODD=a "quoted"\nline = \xff', f"PATH={os.defpath}".encode()]
    )


def test_no_shell_reads_the_command_line(node: Runner) -> None:
    assert node.run("""echo $GREETING "two  words" 'it''s' > file; exit 1""").out == (
        "$GREETING two  words its > file; exit 1\n"
    )


@pytest.mark.parametrize("line", ["", "   ", "''", "echo 'open"])
def test_a_line_without_a_program_is_refused(node: Runner, line: str) -> None:
    with pytest.raises(ProgramNotFound, match=r"empty|No closing quotation"):
        node.start(line)


@pytest.mark.parametrize("program", ["no-such-program", "./script", "/no/such", "./without-interpreter"])
def test_a_program_that_cannot_be_started_is_named(node: Runner, program: str) -> None:
    task = node.root / f"task-{next(NUMBERS) + 1}"
    (node.root / "script").write_text("not executable")
    (node.root / "without-interpreter").write_text("#!/no/such/interpreter\n")
    (node.root / "without-interpreter").chmod(0o755)
    line = program.replace("./", f"{node.root}/")
    with pytest.raises(ProgramNotFound, match=rf"{line}: (No such file|Permission denied)"):
        node.start(line)
    assert (task / "stderr.txt").read_text() == ""


def test_what_a_stream_has_already_stays(node: Runner) -> None:
    for line in ("no-such-program", "sh -c 'echo more; echo more >&2'"):
        place = node.root / f"task-{next(NUMBERS)}"
        place.mkdir()
        out, err = place / "stdout.txt", place / "stderr.txt"
        out.write_text("coordinated\n")
        err.write_text("warned\n")
        start = Start(line, place, node.environment, out, err, node.root)
        if line.startswith("no"):
            with pytest.raises(ProgramNotFound):
                node.sandbox.start(start)
            assert (out.read_text(), err.read_text()) == ("coordinated\n", "warned\n")
        else:
            assert ended(node.sandbox.start(start)) == 0
            assert (out.read_text(), err.read_text()) == ("coordinated\nmore\n", "warned\nmore\n")


def test_an_end_by_a_signal_is_told_as_shells_do(node: Runner) -> None:
    assert node.run("sh -c 'kill -TERM $$; sleep 1000'").code == 128 + signal.SIGTERM
    assert node.run("sh -c 'kill -KILL $$; sleep 1000'").code == 128 + signal.SIGKILL


def test_signals_that_python_ignores_are_as_usual(node: Runner) -> None:
    # SigIgn of proc(5): bit 13 would be SIGPIPE, bit 25 SIGXFSZ.
    ignored = int(node.run("grep SigIgn /proc/self/status").out.split()[1], 16)
    assert ignored == 0


def test_a_program_has_no_open_file_but_its_streams(node: Runner) -> None:
    assert node.run("sh -c 'ls /proc/$$/fd; :'").out.split() == ["0", "1", "2"]


def test_many_programs_start_at_the_same_time(node: Runner) -> None:
    with ThreadPoolExecutor(8) as threads:
        codes = [each.code for each in threads.map(node.run, [f"sh -c 'exit {code}'" for code in range(40)])]
    assert codes == list(range(40))


def test_nothing_is_left_open(node: Runner) -> None:
    node.run("true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        node.run("true")
        with pytest.raises(ProgramNotFound):
            node.start("no-such-program")
    assert len(os.listdir("/proc/self/fd")) <= before


# -- streams -----------------------------------------------------------------------------------------------------------


def test_an_output_file_grows_while_its_program_runs(node: Runner) -> None:
    running, out, _ = node.start("sh -c 'echo first; until test -e go; do sleep 0.01; done; echo last'")
    until(lambda: out.read_text() == "first\n")
    assert running.poll() is None
    (out.parent / "go").touch()
    assert ended(running) == 0
    assert out.read_text() == "first\nlast\n"


def test_ten_megabytes_of_a_stream_are_kept_and_the_rest_is_counted(node: Runner) -> None:
    running, out, err = node.start("sh -c 'head -c 30000000 /dev/zero; echo end; yes | head -c 10000002 >&2'")
    assert ended(running) == 0
    assert out.read_bytes().rpartition(b"\0")[2] == b"\n[20,000,004 more bytes were not kept]\n"
    assert out.stat().st_size == 10_000_000 + len("\n[20,000,004 more bytes were not kept]\n")
    assert err.read_bytes().endswith(b"y\n[2 more bytes were not kept]\n")


def test_output_that_the_disk_has_no_room_for_is_told(node: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(node.root) as root:
        monkeypatch.setattr(node, "root", root)
        running, out, _ = node.start("head -c 3000000 /dev/zero")
        assert ended(running) == 0
        assert running.is_full
        assert out.stat().st_size < 3_000_000
        running, _, _ = node.start("true")
        assert ended(running) == 0
        assert not running.is_full


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 1 MB in a folder; skip the test where that is not allowed."""
    place = folder / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_an_output_file_is_not_followed_out_of_the_folder(node: Runner, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    place = node.root / "task"
    place.mkdir()
    (place / "link").symlink_to(precious)
    (place / "way").symlink_to(tmp_path)
    os.mkfifo(place / "pipe")
    (place / "err").touch()
    for name in ("link", "way/precious", "pipe", "../../precious", "missing"):
        start = Start("echo lost", place, node.environment, place / name, place / "err", node.root)
        with pytest.raises(OSError, match=r"link|directory|regular|device|such|below"):
            node.sandbox.start(start)
    assert precious.read_text() == "precious"


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_limits_hold(node: Runner) -> None:
    assert node.run("sh -c 'ulimit -n; ulimit -c'", Limits(open_files=32)).out == "32\n0\n"
    assert node.run("dd if=/dev/zero of=big bs=1000 count=100", Limits(file_bytes=5000)).code == 128 + signal.SIGXFSZ
    assert {each.stat().st_size for each in node.root.glob("*/big")} == {5000}
    greedy = "dd if=/dev/zero of=/dev/null bs=300M count=1"
    assert node.run(greedy).code == 0
    assert node.run(greedy, Limits(memory_bytes=100_000_000)).code in {1, 128 + signal.SIGKILL}


def test_a_fork_bomb_is_bounded_and_killed(node: Runner) -> None:
    mark = new_mark()
    if os.geteuid() == 0 and not node.sandbox.bounds_processes:
        pytest.skip("root without control groups has no bound on processes")
    bomb = f"""sh -c 'bomb() {{ bomb & bomb & sleep {mark}; }}; bomb'"""
    running, _, err = node.start(bomb, Limits(processes=40))
    until(lambda: "fork" in err.read_text())
    assert len(alive(mark)) <= (40 if node.sandbox.bounds_processes else 8 * 40)
    running.kill()
    assert alive(mark) == []


# -- the end of all that a program has started -------------------------------------------------------------------------

TREE = "sh -c 'trap \"\" TERM HUP INT; sleep {0} & setsid sleep {0} & (setsid sleep {0} &) ; echo ready; {1}'"
"""A shell that begins processes in its own session, in another one, and as orphans in another one."""


def test_what_a_program_leaves_ends_with_it(node: Runner) -> None:
    mark = new_mark()
    assert node.run(TREE.format(mark, "exit 5")) == Ended(5, "ready\n", "")
    assert alive(mark) == []


def test_kill_returns_when_the_whole_tree_is_gone(node: Runner) -> None:
    mark = new_mark()
    running, out, _ = node.start(TREE.format(mark, f"sleep {mark}"))
    until(lambda: out.read_text() == "ready\n" and len(alive(mark)) >= 5)
    assert running.poll() is None
    running.kill()
    assert alive(mark) == []
    assert running.poll() == 128 + signal.SIGKILL
    running.kill()
    assert running.poll() == 128 + signal.SIGKILL


def test_kill_of_a_program_that_has_ended_keeps_its_exit_code(node: Runner) -> None:
    running, _, _ = node.start("sh -c 'exit 4'")
    running.kill()
    assert running.poll() in {4, 128 + signal.SIGKILL}
    running, _, _ = node.start("sh -c 'exit 4'")
    assert ended(running) == 4
    running.kill()
    assert running.poll() == 4


@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_close_leaves_no_process_and_no_group(kind: str, tmp_path: Path) -> None:
    mark = new_mark()
    node = Runner(made(kind), tmp_path)
    started = [node.start(TREE.format(mark, f"sleep {mark}")) for _ in range(3)]
    until(lambda: all(out.read_text() == "ready\n" for _, out, _ in started))
    node.sandbox.close()
    assert alive(mark) == []
    assert {running.poll() for running, _, _ in started} == {128 + signal.SIGKILL}
    supervised = node.sandbox._supervisor.pid
    groups = "/sys/fs/cgroup"
    assert glob(f"{groups}/batchdeck-{supervised}-*") + glob(f"{groups}/*/batchdeck-{supervised}-*") == []


@pytest.mark.parametrize("is_listed", [True, False])
def test_children_are_found_whether_or_not_the_kernel_lists_them(
    monkeypatch: pytest.MonkeyPatch, is_listed: bool
) -> None:
    lists = glob(f"/proc/{os.getpid()}/task/*/children")
    if is_listed and not lists:
        pytest.skip("this kernel does not list them")
    monkeypatch.setattr(supervisor, "glob", lambda pattern: glob(pattern) if is_listed or "task" not in pattern else [])
    with subprocess.Popen(["sleep", "300"]) as one, subprocess.Popen(["sleep", "300"]) as other:
        assert {one.pid, other.pid} <= set(supervisor.children_of(os.getpid()))
        assert list(supervisor.children_of(one.pid)) == []
        one.kill()
        other.kill()


HOST = """
import os, signal, sys
from pathlib import Path
from engine.execution.sandboxes import Start, sandbox_of
kind, folder, line = sys.argv[1:]
root = Path(folder)
sandbox = sandbox_of(kind, network=False, image=None, elevated=False)
running = []
for number in range(2):
    out, err = root / f"out{number}", root / f"err{number}"
    out.touch()
    err.touch()
    running.append(sandbox.start(Start(line, root, {"PATH": os.defpath}, out, err, root)))
print(sandbox._supervisor.pid, flush=True)
signal.pause()
"""
"""Something like batchdeck that starts two trees and waits."""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_command_leaves_no_process(sandbox: Sandbox, tmp_path: Path, end: signal.Signals) -> None:
    mark = new_mark()
    call = [sys.executable, "-c", HOST, sandbox.name, str(tmp_path), TREE.format(mark, f"sleep {mark}")]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as host:
        supervised = int(host.stdout.readline())  # type: ignore[union-attr]
        try:
            until(lambda: all((tmp_path / f"out{number}").read_text() == "ready\n" for number in range(2)))
            host.send_signal(end)
            host.wait(DEADLINE_S)
        finally:
            host.kill()
    until(lambda: not Path(f"/proc/{supervised}").exists())
    assert alive(mark) == []


def test_a_killed_supervisor_takes_its_programs_with_it_and_the_next_start_has_another(tmp_path: Path) -> None:
    mark = new_mark()
    node = Runner(made("process"), tmp_path)
    running, out, _ = node.start(TREE.format(mark, f"sleep {mark}"))
    until(lambda: out.read_text() == "ready\n")
    os.kill(node.sandbox._supervisor.pid, signal.SIGKILL)
    assert ended(running) == 128 + signal.SIGKILL
    assert alive(mark) == []
    assert node.run("echo again").out == "again\n"
    node.sandbox.close()


def test_a_program_that_kills_its_guardian_ends_with_it(tmp_path: Path) -> None:
    mark = new_mark()
    node = Runner(made("process"), tmp_path)
    waiting = f"until test -e go; do sleep 0.01; done; kill -KILL $PPID; sleep {mark}"
    running, out, _ = node.start(TREE.format(mark, waiting))
    (out.parent / "go").touch()
    assert ended(running) == 128 + signal.SIGKILL
    until(lambda: not alive(mark))
    node.sandbox.close()
