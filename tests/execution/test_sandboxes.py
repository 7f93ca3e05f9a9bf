"""Programs that really run: how they start, what bounds them, and that nothing of them is left."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from glob import glob
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from engine.execution import container_watch, sandboxes
from engine.execution.sandboxes import ImageMissing, Limits, ProgramNotFound, SandboxMissing, Start, sandbox_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engine.execution.sandboxes import Running, Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")

DEADLINE_S = 30
USUAL = Limits()
_numbers = count()


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Runner:
    """Starts programs in the folder of one node."""

    def __init__(self, sandbox: Sandbox, root: Path) -> None:
        self.sandbox, self.root = sandbox, root
        self.environment = {"PATH": os.defpath, "GREETING": "good morning"}

    def start(
        self, line: str, limits: Limits = USUAL, image: str | None = None, *, is_elevated: bool = False
    ) -> tuple[Running, Path, Path]:
        place = self.root / f"task-{next(_numbers)}"
        place.mkdir()
        out, err = place / "stdout.txt", place / "stderr.txt"
        out.touch()
        err.touch()
        start = Start(line, place, self.environment, out, err, self.root, limits, image, is_elevated)
        return self.sandbox.start(start), out, err

    def run(self, line: str, limits: Limits = USUAL, image: str | None = None, *, is_elevated: bool = False) -> Ended:
        running, out, err = self.start(line, limits, image, is_elevated=is_elevated)
        return Ended(ended(running), out.read_text(), err.read_text())


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that must come; fail at a deadline that no machine needs."""
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.005)


def ended(running: Running) -> int:
    until(lambda: running.poll() is not None)
    code = running.poll()
    assert code is not None
    return code


def state(place: Path) -> list[tuple[object, ...]]:
    """Return what a file or a folder is, with all below it."""
    found = []
    for each in [
        place,
        *(sorted(place.rglob("*")) if place.is_dir() and "canary" in "".join(os.listdir(place)) else ()),
    ]:
        is_file = each.is_file() and not each.is_symlink()
        status = each.lstat()
        content = each.read_bytes() if is_file else None
        found.append((str(each), status.st_mode, status.st_uid, status.st_ino, status.st_nlink, content))
    return found


def hostile_code(node: Runner, line: str) -> int | None:
    try:
        return node.run(line).code
    except ProgramNotFound:
        return None
    except AssertionError:
        raise AssertionError(line) from None


def new_mark() -> str:
    """Return a duration for ``sleep`` that no other process has."""
    return f"1000.{os.getpid()}{next(_numbers):06}"


def alive(mark: str) -> list[int]:
    """Return the processes with a mark among their arguments that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def made(kind: str, **options: bool) -> Sandbox:
    try:
        return sandbox_of(kind, **{"network": False, "image": None, "elevated": False} | options)
    except SandboxMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module", params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    found = made(request.param)
    yield found
    found.close()


@pytest.fixture(scope="module")
def bubblewrap() -> Iterator[Sandbox]:
    found = made("bubblewrap")
    yield found
    found.close()


@pytest.fixture
def node(sandbox: Sandbox, tmp_path: Path) -> Runner:
    root = tmp_path / "node"
    root.mkdir()
    return Runner(sandbox, root)


@pytest.fixture
def isolated(bubblewrap: Sandbox, tmp_path: Path) -> Runner:
    root = tmp_path / "node"
    root.mkdir()
    return Runner(bubblewrap, root)


# -- what a program gets, and what is told of its end ------------------------------------------------------------------


def test_a_program_has_its_directory_streams_and_exit_code(node: Runner) -> None:
    assert node.run("sh -c 'pwd; echo wrong >&2; exit 3'") == Ended(
        3, f"{node.root}/task-{next(_numbers) - 1}\n", "wrong\n"
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
    task = node.root / f"task-{next(_numbers) + 1}"
    (node.root / "script").write_text("not executable")
    (node.root / "without-interpreter").write_text("#!/no/such/interpreter\n")
    (node.root / "without-interpreter").chmod(0o755)
    line = program.replace("./", f"{node.root}/")
    with pytest.raises(ProgramNotFound, match=rf"{line}: (No such file|Permission denied)"):
        node.start(line)
    assert (task / "stderr.txt").read_text() == ""


def test_what_a_stream_has_already_stays(node: Runner) -> None:
    for line in ("no-such-program", "sh -c 'echo more; echo more >&2'"):
        place = node.root / f"task-{next(_numbers)}"
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


# -- what is said where a sandbox cannot be had ------------------------------------------------------------------------


def sandbox_missing(kind: str | None, image: str | None = None) -> str:
    with pytest.raises(SandboxMissing) as missing:
        sandbox_of(kind, network=False, image=image, elevated=False)
    return str(missing.value)


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert sandbox_missing("process") == "command lines can be executed on Linux and macOS only: leave out --execute"


@pytest.mark.parametrize("kind", [None, "bubblewrap"])
def test_bubblewrap_that_is_not_installed_leaves_a_choice(kind: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert sandbox_missing(kind) == (
        "bubblewrap is not installed: apt-get install bubblewrap, "
        "or choose --sandbox process, in which programs can change all that you can change"
    )


def test_bubblewrap_that_does_not_work_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    assert sandbox_missing(None).startswith(
        "bubblewrap cannot isolate programs here (Permission denied): allow user namespaces, or choose"
    )


def test_an_unknown_sandbox_is_refused() -> None:
    assert sandbox_missing("jail") == "there is no sandbox 'jail': choose process, bubblewrap or container"


def test_without_a_choice_it_is_bubblewrap(bubblewrap: Sandbox) -> None:
    found = sandbox_of(None, network=False, image=None, elevated=False)
    found.close()
    assert found.name == bubblewrap.name == "bubblewrap"


def test_what_users_have_to_know_is_told(sandbox: Sandbox) -> None:
    assert ("programs run as you, and can change all that you can change" in sandbox.notes) is (
        sandbox.name == "process"
    )


# -- bubblewrap --------------------------------------------------------------------------------------------------------


def test_files_of_the_user_and_of_other_nodes_are_hidden(isolated: Runner, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("secret")
    with tempfile.NamedTemporaryFile(dir=Path.home()) as file:
        assert isolated.run(f"cat {file.name}").code == 1
    for place in (
        other / "file",
        "/root",
        "/home",
        "/run",
        "/var/run/docker.sock",
        "/proc/1/root/root",
        "/mnt",
        "/srv",
    ):
        assert isolated.run(f"ls {place}").code == 2, place
    assert isolated.run("sh -c 'echo kept > file && ls -A . .. /tmp /var/tmp'").code == 0


def test_programs_of_the_user_are_named_where_they_are_hidden(isolated: Runner, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "my-tool").write_text("#!/bin/sh\n")
    (tools / "my-tool").chmod(0o755)
    isolated.environment["PATH"] = f"{tools}:{os.defpath}"
    with pytest.raises(ProgramNotFound, match=rf"my-tool: No such file or directory; bubblewrap hides {tools}/my-tool"):
        isolated.start("my-tool")


@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_there_if_it_is_asked_for(network: bool, tmp_path: Path) -> None:
    node = Runner(made("bubblewrap", network=network), tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}'"
        assert (node.run(line).code == 0) is network
    node.sandbox.close()


@pytest.mark.parametrize("elevated", [False, True])
def test_programs_are_root_only_if_they_may_be(elevated: bool, tmp_path: Path) -> None:
    node = Runner(made("bubblewrap", elevated=elevated), tmp_path)
    assert (node.run("id -u", is_elevated=True).out == "0\n") is elevated
    assert node.run("id -u").out != "0\n"
    assert set(node.run("grep Cap /proc/self/status").out.split()[1::2]) == {"0" * 16}
    node.sandbox.close()


def test_processes_and_folders_of_the_machine_are_out_of_reach(isolated: Runner) -> None:
    assert "ps\n" not in isolated.run(f"ls /proc/{os.getpid()}").out
    assert isolated.run(f"sh -c 'kill -KILL {os.getpid()}'").code == 1
    assert isolated.run("sh -c 'kill -KILL 1; kill -KILL -1; echo here'").out == "here\n"


def test_variables_of_a_program_do_not_reach_what_isolates_it(isolated: Runner) -> None:
    isolated.environment["LD_PRELOAD"] = "/no-such-library.so"
    isolated.environment["SECRET"] = mark = new_mark()
    running, out, err = isolated.start("sh -c 'echo $SECRET; until test -e go; do :; done'")
    until(lambda: out.read_text() == f"{mark}\n")
    assert alive(mark) == []  # arguments can be seen by all users
    (out.parent / "go").touch()
    assert ended(running) == 0
    assert err.read_text().count("no-such-library") <= 1


OF_THE_SYSTEM = ("/etc/passwd", "/usr/bin/env", "/bin/sh", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger")


def assert_the_system_is_out_of_reach(node: Runner) -> None:
    """Ask without doing harm, before a thousand lines try."""
    for place in OF_THE_SYSTEM:
        assert node.run(f"test -w {place}").code == 1, place
    assert node.run("chmod 666 /dev/null").code == 1  # as it is


def test_what_the_system_is_made_of_is_out_of_reach(isolated: Runner) -> None:
    assert_the_system_is_out_of_reach(isolated)


def test_folders_of_nodes_may_be_where_other_users_cannot_go(bubblewrap: Sandbox, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "node" / "shared").mkdir(parents=True)
    (closed / "node" / "shared" / "tool").write_text("#!/bin/sh\necho used > shared-file\n")
    closed.chmod(0o700)
    node = Runner(bubblewrap, closed / "node")
    assert node.run("sh -c 'chmod +x ../shared/tool; ../shared/tool; cat shared-file'").out == "used\n"


HOSTILE = (
    "echo {mark} > {target}",
    "echo {mark} >> {target}",
    "rm -rf {target}",
    "rm -rf {target}/.. {target}/../..",
    "mv {target} {target}.{mark}",
    "mv {target} .",
    "touch {target}.{mark}",
    "mkdir -p {target}.{mark}/deep",
    "ln -s /etc/passwd {target}.{mark}",
    "ln -f $0 {target}",
    "ln -s {target} link; echo {mark} > link; rm -rf link/; cp /bin/true link",
    "ln -s {target} ../stdout.txt; echo {mark}",
    "chmod 777 {target}; chmod -R 000 {target}",
    "chown 12345:12345 {target}",
    "cp /bin/true {target}; cp -r /etc/default {target}.{mark}",
    "dd if=/dev/zero of={target} bs=1 count=10 conv=notrunc",
    "truncate -s 0 {target}",
    "sed -i s/a/{mark}/ {target}",
    "tee {target} < /bin/sh > /dev/null",
    "mount --bind . {target}; umount -l {target}; mount -o remount,rw /; echo {mark} > {target}",
    "unshare -r sh -c 'mount -o remount,rw,bind / ; echo {mark} > {target}'",
    "unshare -rm sh -c 'mount --bind . /etc; umount {target}; echo {mark} > {target}'",
    "nsenter -t 1 -a sh -c 'echo {mark} > {target}'",
    "for n in 3 4 5 6 7 8 9; do echo {mark} >&$n; done; echo {mark} > /proc/self/fd/3",
    "for p in /proc/[0-9]*; do echo {mark} > $p/root{target}; echo {mark} > $p/cwd/../../{target}; done",
    "cd ../../../../../../../../../../../..; echo {mark} > .{target}; rm -rf root home var etc/passwd bin/sh",
    "(setsid sh -c 'sleep 0.05; echo {mark} > {target}' &)",
    "kill -KILL {host} 1 -1; kill -STOP {host}; echo {mark} > {target}",
    "mknod disk b 254 0; mknod memory c 1 1; echo {mark} > disk; cat memory > {target}",
    "hostname {mark}; date -s 2001-01-01; echo {mark} > /proc/sys/kernel/hostname; echo 1 > /proc/sysrq-trigger",
    "echo '|/bin/touch {target}.{mark}' > /proc/sys/kernel/core_pattern; ulimit -c unlimited; kill -SEGV $$",
    "chroot / sh -c 'echo {mark} > {target}'; chroot /proc/1/root sh -c 'echo {mark} > {target}'",
    "echo '* * * * * touch {target}.{mark}' | crontab -; echo 'touch {target}' | at now",
    "echo {mark} > /dev/tcp/127.0.0.1/1; echo {mark} > /dev/kmsg; echo {mark} > /dev/tty; cat /dev/mem > {target}",
    "sudo -n tee {target}; su -c 'echo {mark} > {target}'; pkexec touch {target}.{mark}",
    "exec 9<.; cd /proc/self/fd/9/../..; echo {mark} > .{target}; echo {mark} > ..{target}",
    "find {target} -delete; find /root /home /var /mnt /srv -name '*canary*' -exec rm -f {{}} +",
    'python3 -c \'open("{target}","w").write("{mark}")\'; perl -e \'unlink "{target}"\'',
)
"""Scripts that try to change a target, or anything else outside of the folder of their node."""


def test_a_thousand_hostile_command_lines_change_nothing_outside(isolated: Runner, tmp_path: Path) -> None:
    assert_the_system_is_out_of_reach(isolated)
    mark = f"mark{os.getpid()}x{next(_numbers)}"
    with (
        tempfile.TemporaryDirectory(dir=Path.home(), prefix=".canary-") as home,
        tempfile.TemporaryDirectory(dir="/var/tmp", prefix="canary-") as var,
    ):
        places = [tmp_path / "outside", Path(home), Path(var), tmp_path / "node-of-others"]
        for place in places:
            (place / "inner").mkdir(parents=True, exist_ok=True)
            (place / "inner" / "canary.txt").write_text("a canary")
        canaries = [place / "inner" / "canary.txt" for place in places]
        system = [Path(name) for name in (*OF_THE_SYSTEM, "/dev/null", "/sys/kernel")]
        targets = [*canaries, *(each.parent for each in canaries), *system]
        spellings = ("{0}", f"{tmp_path}/../../../../../../../..{{0}}")
        lines = [
            f"sh -c {shlex.quote(script.format(mark=mark, target=spelling.format(target), host=os.getpid()))}"
            for script in HOSTILE
            for target in targets
            for spelling in spellings
        ]
        options = ("--bind / / sh", "--dev-bind / / -- sh", "-- sh", "--args 3 sh", "--ro-bind /x /y sh")
        lines += [line.replace("sh", option, 1) for line, option in zip(lines, options * 12, strict=False)]
        assert len(lines) >= 1000
        nodes = [Runner(isolated.sandbox, tmp_path / f"node{number}") for number in range(50)]
        for node in nodes:
            node.root.mkdir()
        watched = [*places, *map(Path, ("/etc/passwd", "/usr/bin/env", "/bin/sh", "/dev/null"))]
        before = [state(each) for each in watched]
        with ThreadPoolExecutor(4) as threads:
            codes = list(threads.map(lambda each: hostile_code(nodes[each[0] % len(nodes)], each[1]), enumerate(lines)))
        assert [state(each) for each in watched] == before
        assert codes.count(None) == 60  # options are programs that are not found
        found = [
            top
            for top in ("/", "/etc", "/usr/bin", "/bin", "/dev", "/tmp", "/var/tmp", "/sys")
            for name in os.listdir(top)
            if mark in name
        ]
        assert found == []
        assert socket.gethostname() != mark
        assert alive(mark) == []


# -- containers --------------------------------------------------------------------------------------------------------


class FakeError(OSError):
    """An answer of the service that is no success, as of ``requests``."""

    def __init__(self, explanation: str) -> None:
        super().__init__(f"500 Server Error: {explanation}")
        self.explanation = explanation


class FakeNotFound(FakeError):
    pass


class FakeImageNotFound(FakeNotFound):
    pass


class FakeContainer:
    """A container that ends when it is killed or removed, or at once if its program is ``true``."""

    def __init__(self, service: FakeDocker, image: str, command: list[str], options: dict[str, Any]) -> None:
        self.service, self.image, self.command, self.options = service, image, command, options
        self.code = 0
        self.ended = threading.Event()

    def start(self) -> None:
        if self.command[0] == "nosuch":
            raise FakeError('runc create failed: exec: "nosuch": executable file not found in $PATH')
        if self.command[0] == "unlucky":
            raise FakeError("no space left on device")
        if self.command[0] == "true":
            self.ended.set()

    def logs(self, *, stream: bool, follow: bool, stdout: bool, stderr: bool) -> Iterator[bytes]:
        assert stream
        assert stdout != stderr
        if self.service.api.timeout is not None:  # Podman answers with the first output, and Docker at the end of wait
            raise FakeError("Read timed out")
        yield b"begin\n" if stdout else b"wrong\n"
        if follow:
            assert self.ended.wait(DEADLINE_S)
        elif stdout:
            yield b"what was missed\n"

    def wait(self, *, timeout: None) -> dict[str, int]:
        assert timeout is None
        assert self.ended.wait(DEADLINE_S)
        if self.service.is_gone:
            raise FakeError("Connection aborted")
        if self not in self.service.all:
            raise FakeNotFound("no such container")
        return {"StatusCode": self.code}

    def kill(self) -> None:
        if self.ended.is_set():
            raise FakeError("is not running")
        self.code = 137
        self.ended.set()

    def remove(self, *, force: bool) -> None:
        assert force
        self.service.all.discard(self)
        self.ended.set()


class FakeDocker:
    """The part of the Docker SDK that is used, with one image, and another that can be pulled."""

    def __init__(self) -> None:
        self.all: set[FakeContainer] = set()
        self.images_here = {"here:1"}
        self.address = "unix:///run/podman/podman.sock"
        self.addresses: list[str] = []
        self.is_rootless = self.is_gone = False
        self.api = SimpleNamespace(timeout=60)
        self.errors = SimpleNamespace(
            DockerException=FakeError, APIError=FakeError, NotFound=FakeNotFound, ImageNotFound=FakeImageNotFound
        )
        self.types = SimpleNamespace(Ulimit=lambda **options: options)
        self.containers = SimpleNamespace(create=self._create, list=self._list)
        self.images = SimpleNamespace(pull=self._pull)

    def DockerClient(self, *, base_url: str) -> FakeDocker:  # noqa: N802
        self.addresses.append(base_url)
        return self

    def ping(self) -> bool:
        if self.addresses[-1] != self.address:
            raise FakeError("Connection refused")
        return True

    def info(self) -> dict[str, Any]:
        return {"SecurityOptions": ["name=rootless"] if self.is_rootless else None}

    def _create(self, image: str, command: list[str], **options: Any) -> FakeContainer:
        if image not in self.images_here:
            raise FakeImageNotFound(f"no such image: {image}")
        container = FakeContainer(self, image, command, options)
        self.all.add(container)
        return container

    def _pull(self, image: str) -> None:
        if image != "elsewhere:1":
            raise FakeImageNotFound(f"no such image: {image}")
        self.images_here.add(image)

    def _list(self, *, all: bool, filters: dict[str, str]) -> list[FakeContainer]:  # noqa: A002
        assert all
        name, _, value = filters["label"].partition("=")
        return [each for each in self.all if each.options["labels"] == {name: value}]


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    found = FakeDocker()
    monkeypatch.setitem(sys.modules, "docker", found)
    monkeypatch.setitem(sys.modules, "docker.errors", found.errors)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    # The process that removes what a killed command leaves has no fake: a test of its own calls what it does.
    monkeypatch.setattr(subprocess, "Popen", lambda call, **_: SimpleNamespace(args=call, communicate=lambda: None))
    return found


def contained(tmp_path: Path, **options: Any) -> Runner:
    return Runner(
        sandbox_of("container", **{"network": False, "image": "here:1", "elevated": False} | options), tmp_path
    )


def test_a_container_gets_the_folder_of_its_node_and_limits(docker: FakeDocker, tmp_path: Path) -> None:
    node = contained(tmp_path)
    running, out, err = node.start("sleep 'a b'", Limits(memory_bytes=1000, file_bytes=2000))
    (container,) = docker.all
    assert (container.image, container.command) == ("here:1", ["sleep", "a b"])
    label = container.options.pop("labels")["batchdeck"]
    assert node.sandbox._keeper.args[-2:] == ["unix:///run/podman/podman.sock", f"batchdeck={label}"]
    assert container.options == {
        "working_dir": str(out.parent),
        "environment": node.environment,
        "volumes": {str(tmp_path): {"bind": str(tmp_path), "mode": "rw"}},
        "network_mode": "none",
        "user": f"{os.getuid()}:{os.getgid()}",
        "mem_limit": 1000,
        "pids_limit": 512,
        "ulimits": [
            {"name": name, "soft": n, "hard": n} for name, n in (("nofile", 1024), ("fsize", 2000), ("core", 0))
        ],
    }
    until(lambda: out.read_text() == "begin\n" and err.read_text() == "wrong\n")
    assert running.poll() is None
    running.kill()
    running.kill()
    assert running.poll() == 137
    assert docker.all == set()
    assert out.read_text() == "begin\nwhat was missed\n"
    assert err.read_text() == "wrong\n"
    node.sandbox.close()


def test_a_container_ends_with_the_exit_code_of_its_program(docker: FakeDocker, tmp_path: Path) -> None:
    assert contained(tmp_path, network=True).run("true") == Ended(0, "begin\nwhat was missed\n", "wrong\n")
    assert contained(tmp_path, elevated=True).run("true", image="elsewhere:1").code == 0
    docker.is_rootless = True
    running, _, _ = contained(tmp_path, network=True).start("sleep")
    (container,) = docker.all
    assert (container.options["user"], container.options["network_mode"]) == ("0:0", None)
    container.remove(force=True)  # by somebody else
    assert ended(running) == 137


def test_what_cannot_run_in_a_container_is_told(docker: FakeDocker, tmp_path: Path) -> None:
    node = contained(tmp_path, image=None)
    with pytest.raises(OSError, match="there is no image: give containerSettings or --image"):
        node.start("true")
    with pytest.raises(ImageMissing, match="lost:1: no such image: lost:1"):
        node.start("true", image="lost:1")
    with pytest.raises(ProgramNotFound, match=r"nosuch: .*executable file not found"):
        node.start("nosuch", image="here:1")
    with pytest.raises(OSError, match="here:1: no space left on device"):
        node.start("unlucky", image="here:1")
    assert docker.all == set()


def test_a_container_whose_service_has_gone_was_killed(docker: FakeDocker, tmp_path: Path) -> None:
    docker.is_gone = True
    assert contained(tmp_path).run("true").code == 137


def test_containers_of_a_killed_command_are_removed(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = contained(tmp_path)
    running, _, _ = node.start("sleep")
    other = docker.containers.create("here:1", ["sleep"], labels={"batchdeck": "other"})
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    container_watch.remove_containers(*node.sandbox._keeper.args[-2:])
    assert docker.all == {other}
    assert ended(running) == 137


def test_without_a_client_or_a_service_there_are_no_containers(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "address", "tcp://another:1")
    assert sandbox_missing("container") == (
        "neither Docker nor Podman answers: start one (systemctl --user start podman.socket) or set DOCKER_HOST"
    )
    monkeypatch.setitem(sys.modules, "docker", None)
    assert sandbox_missing("container") == (
        "containers need the Docker SDK for Python, for Podman too: pip install 'batchdeck[execute]'"
    )


# The Docker SDK leaves connections open that have failed.
UNCLOSED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def small_image() -> Iterator[str]:
    """An image with a shell and nothing else, in the service of containers that answers here."""
    pytest.importorskip("docker", reason="the Docker SDK for Python is not installed")
    try:
        client, _ = sandboxes._daemon()
    except SandboxMissing as missing:
        pytest.skip(str(missing))
    shell = Path(shutil.which("busybox") or "/no/busybox")
    if not shell.exists() or b"ld-linux" in shell.read_bytes()[:4096]:
        pytest.skip("there is no busybox that needs no libraries: apt-get install busybox-static")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as root:
        root.add(shell.resolve(), "bin/busybox")
        for name in ("sh", "sleep", "ls", "cat"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            root.addfile(link)
    client.api.import_image_from_data(packed.getvalue(), repository="localhost/batchdeck-test")
    yield "localhost/batchdeck-test:latest"
    client.images.remove("localhost/batchdeck-test:latest", force=True)


@pytest.fixture
def real_containers(small_image: str, tmp_path: Path) -> Iterator[Runner]:
    node = contained(tmp_path, image=small_image)
    node.environment["PATH"] = "/bin"
    yield node
    node.sandbox.close()
    assert left_of(node) == []


def left_of(node: Runner) -> list[Any]:
    """Return the containers of a sandbox."""
    label = f"batchdeck={node.sandbox._label}"
    found: list[Any] = node.sandbox._client.containers.list(all=True, filters={"label": label})
    return found


@UNCLOSED
def test_a_real_container_has_its_folder_streams_limits_and_exit_code(real_containers: Runner) -> None:
    script = "echo $GREETING; ulimit -n; ls /sys/class/net; echo wrong >&2; echo made > made; exit 7"
    assert real_containers.run(f"sh -c '{script}'") == Ended(7, "good morning\n1024\nlo\n", "wrong\n")
    assert [place.read_text() for place in real_containers.root.glob("task-*/made")] == ["made\n"]
    with pytest.raises(ProgramNotFound, match="no-such-program"):
        real_containers.start("no-such-program")
    with pytest.raises(ImageMissing, match="no-such-image"):
        real_containers.start("sh", image="localhost/no-such-image:1")


@UNCLOSED
def test_a_real_container_is_killed_and_none_outlives_its_command(real_containers: Runner) -> None:
    running, out, _ = real_containers.start("sh -c 'echo begun; sleep 300'")
    until(lambda: out.read_text() == "begun\n")
    assert running.poll() is None
    running.kill()
    assert running.poll() == 137
    assert left_of(real_containers) == []
    running, out, _ = real_containers.start("sh -c 'echo begun; sleep 300'")
    until(lambda: out.read_text() == "begun\n")
    real_containers.sandbox._keeper.stdin.close()  # as if the command had gone
    real_containers.sandbox._keeper.stdin = None
    until(lambda: left_of(real_containers) == [])
    assert ended(running) == 137
