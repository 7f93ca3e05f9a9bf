"""Programs that bubblewrap isolates, and what is said where a sandbox cannot be had."""

from __future__ import annotations

import os
import shlex
import socket
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.execution.sandboxes import ProgramNotFound, sandbox_of
from tests.execution.programs import NUMBERS, Runner, alive, ended, made, new_mark, sandbox_missing, until

if TYPE_CHECKING:
    from engine.execution.sandboxes import Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


# -- what is said where a sandbox cannot be had ------------------------------------------------------------------------


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
    mark = f"mark{os.getpid()}x{next(NUMBERS)}"
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
