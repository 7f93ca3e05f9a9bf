"""The world around a command line: files of the system, programs that run others, texts that nobody knows."""

from __future__ import annotations

import shlex

import pytest

from engine.base.paths import APPLICATIONS, MOUNTS, SHARED
from engine.base.terms import OsFamily
from engine.shell.small_shell import facts_of, traps_of
from engine.specs.images import LinuxSystem
from tests.units.conftest import WD, Machine
from tests.units.test_small_shell import LINUX, WINDOWS, cmd

UBUNTU = LinuxSystem("batch.node.ubuntu 22.04", 4, 16, "tvm-1", "_azbatch")


def sh(script):
    return f"/bin/sh -c {shlex.quote(script)}"


def bash(script):
    return f"/bin/bash -c {shlex.quote(script)}"


@pytest.fixture
def ubuntu():
    machine = Machine(OsFamily.LINUX)
    with machine.files.guarded((), None, UBUNTU.text):
        yield machine


# -- files of the system ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "stdout"),
    [
        (". /etc/os-release && echo $ID $VERSION_ID $VERSION_CODENAME", "ubuntu 22.04 jammy\n"),
        ("grep -c ^processor /proc/cpuinfo", "4\n"),
        ("grep MemTotal /proc/meminfo", "MemTotal:       16777216 kB\n"),
        ("cat /etc/hostname", "tvm-1\n"),
        ("grep -c localhost /etc/hosts", "2\n"),
        ("cut -d: -f1 /etc/passwd", "root\nnobody\n_azbatch\n"),
        ("ls /mnt; ls /mnt/batch", "batch\ntasks\n"),
        ("ls /tmp; [ -d /etc/profile.d ] && [ -e /dev/null ] && [ ! -d /dev/null ] && echo yes", "yes\n"),
        ("cp /etc/hosts h && wc -l < h", "5\n"),
        ("echo more >> /etc/hosts; tail -n 1 /etc/hosts; grep -c localhost /etc/hosts", "more\n2\n"),
    ],
)
def test_file_15_files_of_the_system_are_as_image_and_size_say(ubuntu, script, stdout):
    result = ubuntu.run(sh(script))
    assert (result.exit_code, result.stdout, result.stderr) == (0, stdout, "")


@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        ("batch.node.ubuntu 24.04", "ubuntu 24.04"),
        ("batch.node.debian 12", "debian 12"),
        ("batch.node.el 9", "almalinux 9"),
        ("batch.node.centos 7", "centos 7"),
    ],
)
def test_file_15_the_node_agent_names_the_system(agent, shown):
    machine = Machine(LINUX)
    with machine.files.guarded((), None, UBUNTU._replace(node_agent_sku_id=agent).text):
        assert machine.run(sh(". /etc/os-release; echo $ID $VERSION_ID")).stdout == f"{shown}\n"


@pytest.mark.parametrize(
    "script",
    [
        "cat /opt/x/list",
        "set -e; . /opt/intel/setvars.sh; echo on",
        "cat < /etc/fstab",
        "while read -r x; do echo $x; done < /etc/fstab",
        "ls /etc",
        "ls -la /",
        "cp -r /usr/share/x .",
        "rm /var/lib/x/lock",
        "chmod +x /usr/local/bin/x",
        "cd /opt/app && cat settings.json",
        "[ -f /usr/bin/python3 ] && [ -d /opt/conda ] && test -x /usr/bin/x",
        "sh /opt/x/run.sh",
        "bash /usr/local/bin/x.sh",
        "grep -q x /var/log/syslog",
        f"cat /mnt/batch/tasks/{MOUNTS}/data/in.txt",
        f"ls /mnt/batch/tasks/{APPLICATIONS}/blender/2.79",
        "cat /data/in.txt",
    ],
)
def test_file_15_what_a_real_node_may_have_makes_the_command_an_unknown_program(ubuntu, script):
    result = ubuntu.run(sh(script))
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "script",
    [
        "cat /tmp/gone",
        "ls /tmp/gone",
        "cd /tmp/gone",
        "echo x > /tmp/gone/x",
        "mkdir -p /data && cat /data/gone",
        f"cat /mnt/batch/tasks/{SHARED}/gone",
        "cat gone",
        "[ -f gone ]",
        "[ -d /tmp/gone ]",
        "ls -l gone",
    ],
)
def test_file_15_what_no_real_node_has_is_missing(ubuntu, script):
    assert ubuntu.run(sh(script)).exit_code in (1, 2)


def test_file_15_a_container_that_nobody_describes_may_bring_anything(ubuntu):
    ubuntu.files.mkdir(f"{WD}/in", known=False)
    assert ubuntu.run(sh("cat in/a/b.txt && bash in/run.sh")).exit_code == 0
    assert ubuntu.run(sh("cat b.txt")).exit_code == 1


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("cat /etc/fstab", True),
        (". /opt/x/setvars.sh && mpirun app", True),
        ("cat /etc/hosts /proc/cpuinfo", False),
        ("[ -d /etc ] && cd /opt", False),
        ("mkdir -p /data && cp in.txt /data/ && cat /data/in.txt", False),
        ("echo /usr/bin /opt/x", False),
        ("python3 /opt/x/run.py", False),
        ("cat /tmp/x > /dev/null", False),
    ],
)
def test_file_15_the_file_is_named_in_a_warning(script, named):
    assert [code for code, _ in traps_of(sh(script), LINUX)] == ["system-file"] * named


# -- programs that run others ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "stdout", "slept_ms"),
    [
        ("timeout 5 sleep 100", 124, "", 5_000),
        ("timeout 5 sleep 3", 0, "", 3_000),
        (sh("timeout 5 sh -c 'echo a; sleep 9; echo b'; echo $?"), 0, "a\n124\n", 5_000),
        (sh("timeout -s KILL 1m sleep 2h; echo $?"), 0, "137\n", 60_000),
        (sh("timeout 9 timeout 5 sleep 100; echo $?"), 0, "124\n", 5_000),
        (sh("timeout 5 timeout 9 sleep 100; echo $?"), 0, "124\n", 5_000),
        (sh("timeout 5 sleep 9 | cat; echo $?"), 0, "0\n", 5_000),
        (sh("timeout 5 sh -c 'sleep 9 & wait'; sleep 1"), 0, "", 6_000),
        (sh("for i in 1 2; do timeout 5 sleep 9; done"), 124, "", 10_000),
        (sh("nohup nice -n 5 sleep 7"), 0, "", 7_000),
        ("time sleep 3", 0, "", 3_000),
    ],
)
def test_task_26_a_command_ends_when_its_time_is_up(linux, line, code, stdout, slept_ms):
    from engine.shell.small_shell import run

    assert facts_of(line, LINUX).needs_rehearsal
    result = run(line, linux.root, linux.env, linux.files, WD)
    assert (result.exit_code, result.stdout, result.slept_ms) == (code, stdout, slept_ms)


@pytest.mark.parametrize(("line", "most_ms"), [("timeout 30 work", 30_000), ("work", None), ("nice timeout 5 x", None)])
def test_task_26_an_unknown_program_lasts_no_longer_than_its_time(line, most_ms):
    assert facts_of(line, LINUX).most_ms == facts_of(sh(line), LINUX).most_ms == most_ms


@pytest.mark.parametrize(
    "line",
    [
        "sudo rm -rf x",
        "nohup rm -rf x",
        "nice -n 10 rm -rf x",
        "time rm -rf x",
        "env A=1 rm -rf x",
        sh("exec rm -rf x"),
        sh("command rm -rf x"),
        sh("sudo -E nice nohup timeout 9 rm -rf x"),
        sh('sudo sh -c "rm -rf x"'),
    ],
)
def test_task_26_the_command_that_is_given_runs(linux, line):
    linux.files.write(f"{WD}/x", "text")
    assert linux.run(line).exit_code == 0
    assert not linux.files.exists(f"{WD}/x")
    assert facts_of(line, LINUX).understood_ms is not None


@pytest.mark.parametrize(
    ("line", "code"),
    [("sudo cd /tmp", 1), ("nohup export A=1", 127), (sh("exec cd /"), 127), ("timeout 5", 125), ("env cd /", 127)],
)
def test_task_26_a_command_of_the_shell_is_no_program_that_others_can_run(linux, line, code):
    assert linux.run(line).exit_code == code


def test_task_26_the_administrator_sees_few_variables_and_writes_everywhere(linux):
    assert linux.run(sh("sudo sh -c 'echo [$GREETING] $USER'")).stdout == "[] root\n"
    assert linux.run(sh("sudo -E sh -c 'echo $USER $AZ_BATCH_TASK_ID'")).stdout == "root task001\n"
    with linux.files.guarded((SHARED,)):
        assert linux.run(sh("touch $AZ_BATCH_NODE_SHARED_DIR/x")).exit_code == 1
        assert linux.run(sh("sudo touch $AZ_BATCH_NODE_SHARED_DIR/x")).exit_code == 0


# -- what unknown programs write -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        "work && [ -f result.txt ]",
        "work; if [ ! -f result.txt ]; then exit 1; fi",
        "work > out.txt && grep -q OK out.txt",
        "work > out.txt; test -s out.txt",
        "work | grep -q OK",
        'n=$(work); [ "$n" -gt 3 ]',
        'n=$(work | wc -l); if [ "$n" -eq 0 ]; then exit 1; fi',
        '[ -n "$(work)" ] && [ "$(work)" = done ]',
        '[ ! -z "$(work)" ]',
        'until [ "$(work)" = ready ]; do sleep 5; done',
        'while [ "$(work)" != ready ]; do sleep 5; done',
        "while [ $(work | wc -l) -ne 0 ]; do sleep 5; done",
        "work > out.txt; test $(wc -l < out.txt) -gt 3",
        "T=$(mktemp -d) && work > $T/x && cat $T/x",
        "work; mkdir -p a; [ -d b ] && echo x > b/y",
    ],
)
def test_task_27_what_follows_an_unknown_program_goes_well(linux, script):
    assert linux.run(sh(script)).exit_code == 0


@pytest.mark.parametrize(
    "script",
    ["echo no > out.txt; grep -q OK out.txt", "n=$(echo 1); [ $n -gt 3 ]", 'x=; work; [ -n "$x" ]', "[ -z $(pwd) ]"],
)
def test_task_27_what_is_known_is_judged_as_it_is(linux, script):
    assert linux.run(sh(script)).exit_code == 1


def test_task_27_an_output_that_the_scenario_gives_is_known(linux):
    assert linux.run(sh("work | grep -q OK"), stdout="no\n").exit_code == 1
    assert linux.run(sh('[ "$(work)" = no ]'), stdout="no\n").exit_code == 0


# -- bash and cmd ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "stdout"),
    [
        ("echo $((2**3)) $((2**3**2)) $((-2**2)) $((3*2**2))", "8 512 4 12\n"),
        ('[ "$RANDOM" -lt 32768 ] && [ $RANDOM != $RANDOM ] && echo yes', "yes\n"),
        ('sleep 4; echo $SECONDS $UID; [ -n "$BASH_VERSION" ] && echo bash', "4 1000\nbash\n"),
        ("echo 'A=5' > s; source ./s; echo $A", "5\n"),
        ("echo $((RANDOM % 1))", "0\n"),
    ],
)
def test_task_22_bash_has_powers_and_variables_of_its_own(linux, script, stdout):
    assert linux.run(bash(script)).stdout == stdout
    assert linux.run(bash(script)).stdout == stdout  # with no chance


def test_task_22_sh_has_no_source_where_it_is_dash():
    for agent, code in (("ubuntu 22.04", 127), ("debian 12", 127), ("el 9", 0), ("centos 7", 0)):
        machine = Machine(LINUX)
        with machine.files.guarded((), None, UBUNTU._replace(node_agent_sku_id=f"batch.node.{agent}").text):
            assert machine.run(sh("echo A=1 > ./s; source ./s")).exit_code == code


def test_env_4_cmd_replaces_the_variables_of_windows(windows):
    assert windows.run(cmd("echo %TEMP%> out.txt & type out.txt")).stdout.endswith("\\AppData\\Local\\Temp\n")
    assert windows.run(cmd("echo x> %TEMP%\\x.txt & type %temp%\\x.txt")).stdout == "x\n"
    assert windows.run(cmd("echo %NUMBER_OF_PROCESSORS% %COMPUTERNAME% %OS%")).stdout == "1 tvm-1 Windows_NT\n"
    assert "%" not in windows.run(cmd("echo %DATE% %TIME% %RANDOM% %USERPROFILE%")).stdout


# -- traps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "os", "codes"),
    [
        ("bash run.sh", WINDOWS, ["wrong-shell"]),
        ("cmd /c dir", LINUX, ["wrong-shell"]),
        (sh("cmd /c dir"), LINUX, ["wrong-shell"]),
        (sh("source env.sh"), LINUX, ["wrong-shell"]),
        (bash("source env.sh"), LINUX, []),
        ("cd x", LINUX, ["builtin-as-program"]),
        ("export A=1", LINUX, ["builtin-as-program"]),
        ("echo hi", WINDOWS, ["builtin-as-program"]),
        ("echo hi", LINUX, []),
        ("python x.py > out.txt", LINUX, ["no-shell"]),
        ("python x.py && echo done", LINUX, ["no-shell"]),
        ("python x.py $AZ_BATCH_TASK_ID", LINUX, ["no-shell"]),
        ("python x.py --dir=${HOME}", LINUX, ["no-shell"]),
        ("run.exe %AZ_BATCH_TASK_ID%", WINDOWS, ["no-shell"]),
        ("python x.py 'a && b'", LINUX, []),
        ("Rscript -e 'print(x$NAME)'", LINUX, []),
        ("find . -name x -exec rm {} \\;", LINUX, []),
        ("ffmpeg -i img%04d.png -b:v 1M out.mp4", WINDOWS, []),
        ("powershell -Command Get-Date | Out-File x", WINDOWS, []),
        ("awk '{print $1}' x", LINUX, []),
        ("docker run --rm image sh -c 'echo $HOME && ls'", LINUX, []),
        ("work --price 1", LINUX, []),
    ],
)
def test_task_4_traps_of_a_command_line_have_codes(line, os, codes):
    assert [code for code, _ in traps_of(line, os)] == codes


# -- ls --------------------------------------------------------------------------------------------------------------


def test_task_22_ls_shows_sizes_times_and_order(linux):
    linux.files.write(f"{WD}/small", "x")
    linux.files.now_ms = 90_000
    linux.files.write(f"{WD}/large", "x" * 3000)
    assert linux.run("ls -t").stdout == "large\nsmall\n"
    assert linux.run("ls -tr").stdout == "small\nlarge\n"
    assert linux.run("ls -l").stdout == (
        "total 8\n"
        "-rw-r--r-- 1 _azbatch _azbatch 3000 Jan  1 00:00 large\n"
        "-rw-r--r-- 1 _azbatch _azbatch    1 Dec 31 23:58 small\n"
    )
    assert linux.run("ls -lh large").stdout.split()[4] == "3.0K"
    linux.files.mkdir(f"{WD}/d")
    assert linux.run("ls -ld d").stdout.startswith("drwxr-xr-x 2 _azbatch _azbatch 4096 ")
    assert linux.run("ls -la nothere").exit_code == 2
