"""Tests of command lines outside a shell: programs, scripts and batch files on the node."""

from __future__ import annotations

import pytest

from engine.base.terms import OsFamily
from engine.shell.small_shell import facts_of
from tests.units.conftest import WD, Machine
from tests.units.test_small_shell import LINUX, WINDOWS, cmd, sh


def test_task_4_nothing_is_expanded_or_redirected_outside_a_shell(linux):
    assert linux.run("echo $GREETING > x && ls %GREETING% * ;").stdout == "$GREETING > x && ls %GREETING% * ;\n"
    assert linux.texts() == {}


SCRIPT = '#!/bin/sh\necho "$0 $# $1"; pwd > here; exit 4\n'


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("./run.sh a b", "./run.sh"),
        ("/bin/sh run.sh a b", "run.sh"),
        (sh("chmod +x run.sh && ./run.sh a b"), "./run.sh"),
        (sh("sh $PWD/run.sh a b"), "/mnt/batch/tasks/workitems/risk/job-1/task001/wd/run.sh"),
        ("/mnt/batch/tasks/workitems/risk/job-1/task001/wd/run.sh a b", None),
    ],
)
def test_task_4_and_node_1_a_script_on_the_node_is_run_by_its_path_or_by_a_shell(linux, line, name):
    linux.files.write(f"{WD}/run.sh", SCRIPT)
    assert linux.run(line).stdout == f"{name or line.split()[0]} 2 a\n"
    assert linux.run(line).exit_code == 4
    assert linux.files.read(f"{WD}/here") == linux.root.native(WD) + "\n"
    assert not facts_of(line, LINUX).leaves_nothing


def test_task_4_the_first_line_of_a_script_names_its_shell_and_its_options(linux):
    linux.files.write(f"{WD}/run.sh", "#!/usr/bin/env bash\nset -o pipefail; false | true; echo $?\n")
    assert linux.run("./run.sh").stdout == "1\n"
    linux.files.write(f"{WD}/run.sh", "#!/bin/sh -e\nfalse\necho never\n")
    assert linux.run("./run.sh") == (1, "", "", True)


@pytest.mark.parametrize("text", ["#!/usr/bin/python3\nprint(1)\n", "\x7fELF", ""])
def test_task_4_other_files_are_programs_like_any_other(linux, text):
    linux.files.write(f"{WD}/price.sh", text)
    assert linux.run("./price.sh", 3, "out") == (3, "out", "", True)


@pytest.mark.parametrize("text", ["echo a\r\n", "if exist a echo b\r\n", ""])
def test_task_4_a_batch_file_is_a_program_like_any_other(windows, text):
    windows.files.write(f"{WD}/run.cmd", text)
    assert windows.run("run.cmd", 3, "out") == (3, "out", "", True)
    assert not facts_of("run.cmd", WINDOWS).leaves_nothing


NODE_1 = {
    OsFamily.LINUX: ["/usr/local/bin/price --deal 1", "python3 price.py", "./price", "/bin/bash price.sh"],
    OsFamily.WINDOWS: ["price.exe /deal 1", "price.cmd", "cmd /c price.bat", "powershell.exe -File price.ps1"],
}


@pytest.mark.parametrize(("os", "line"), [(os, line) for os, lines in NODE_1.items() for line in lines])
def test_node_1_any_program_of_the_operating_system_can_be_run(os, line):
    assert Machine(os).run(line, 3, "out", "err") == (3, "out", "err", True)


@pytest.mark.parametrize("line", ["price --deal 1 > out.txt", "powershell -c ls > x", "./fetch"])
@pytest.mark.parametrize("os", OsFamily)
def test_task_4_an_unknown_program_exists_and_does_what_simulate_says(os, line):
    if line.startswith("powershell") and os is LINUX:
        line = "pwsh -c ls > x"
    machine = Machine(os)
    assert machine.run(line, 3, "out", "err") == (3, "out", "err", True)
    assert machine.run(line) == (0, "", "", True)
    assert machine.texts() == {}
    assert facts_of(line, os).understood_ms is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("bash gone.sh", 127),
        ("/bin/bash gone.sh", 127),
        ("sh gone.sh", 2),
        ("nohup bash gone.sh", 127),
        ("timeout 5 bash gone.sh", 127),
        (sh("bash gone.sh"), 127),
        (sh("true && bash gone.sh"), 127),
        (sh("sudo bash gone.sh"), 127),
        (sh("exec bash gone.sh"), 127),
        (sh("bash gone.sh || exit 9"), 9),
        (sh("(bash gone.sh)"), 127),
        (sh("echo $(bash gone.sh)"), 0),
    ],
)
def test_task_4_a_shell_that_finds_no_script_ends_in_the_same_way_wherever_it_stands(linux, line, code):
    assert linux.run(line).exit_code == code
    assert linux.run(line, 3).exit_code == 3  # what the scenario says wins


@pytest.mark.parametrize(
    ("line", "os", "found"),
    [
        ("cd /tmp", LINUX, False),
        ("export A=1", LINUX, False),
        ("echo hi", LINUX, True),
        ("/bin/echo hi", LINUX, True),
        ("", LINUX, False),
        ("echo hi", WINDOWS, False),
        ("DEL x", OsFamily.CLOUD_SERVICE, False),
        ("cd /tmp", WINDOWS, False),
        ("export A=1", WINDOWS, True),
        ("timeout /t 1", WINDOWS, True),
        ("cmd /c cd x", WINDOWS, True),
        ("sh -c 'cd x'", LINUX, True),
        ("  ", WINDOWS, False),
    ],
)
def test_task_4_built_ins_are_no_programs(line, os, found):
    assert facts_of(line, os).found is found
    assert Machine(os).run(line).found is found


def test_linux_programs_run_without_a_shell(linux):
    assert linux.run("mkdir -p 'a b'").exit_code == 0
    assert linux.run("touch 'a b/x'").exit_code == 0
    assert linux.run("ls 'a b'").stdout == "x\n"


@pytest.mark.parametrize(
    ("line", "os"),
    [
        ("cmd /c echo hi > x", LINUX),
        ("cmd.exe /c dir", LINUX),
        ("powershell -c ls", LINUX),
        (r"C:\\tools\\run.exe", LINUX),
        ("bash run.sh", WINDOWS),
        ("/bin/sh -c 'echo hi > x'", WINDOWS),
        ("/usr/bin/python3 x.py", WINDOWS),
        ("sh -c ls", OsFamily.CLOUD_SERVICE),
    ],
)
def test_node_1_a_node_has_no_shell_of_the_other_system(line, os):
    machine = Machine(os)
    assert not facts_of(line, os).found
    assert machine.run(line, stdout="simulated") == (127, "", "", False)
    assert machine.texts() == {}


@pytest.mark.parametrize(
    ("line", "os", "code"),
    [(sh("cmd /c dir"), LINUX, 127), (sh("powershell x || exit 4"), LINUX, 4), (cmd("bash x.sh"), WINDOWS, 1)],
)
def test_node_1_a_script_does_not_find_the_shell_of_the_other_system(line, os, code):
    result = Machine(os).run(line)
    assert (result.exit_code, result.found) == (code, True)
    assert result.stderr


@pytest.mark.parametrize(
    ("line", "os"),
    [
        ("$AZ_BATCH_NODE_SHARED_DIR/run.sh", LINUX),
        ("${HOME}/run", LINUX),
        ("~/run", LINUX),
        ("`which python` x.py", LINUX),
        ("env;export", LINUX),
        ("(cd x)", LINUX),
        ("A=1 python x.py", LINUX),
        ("if true", LINUX),
        (r"%AZ_BATCH_NODE_SHARED_DIR%\run.exe", WINDOWS),
        ("dir&exit", WINDOWS),
    ],
)
def test_env_3_a_name_that_only_a_shell_reads_is_no_program(line, os):
    assert not facts_of(line, os).found
    assert not Machine(os).run(line).found
