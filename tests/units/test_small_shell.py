from __future__ import annotations

import shlex
import time
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.environment import NodeFacts, TaskFacts, TaskKind, variables
from engine.base.node_files import NodeFiles
from engine.base.paths import NodeRoot, task_directory, working_directory
from engine.base.terms import OsFamily
from engine.executors.shell.language.command_line import parse
from engine.executors.shell.programs.catalogue import SimulatedOutput
from engine.executors.shell.small_shell import (
    duration_ms,
    is_found,
    leaves_nothing,
    run,
    sleeps_by_chance,
    syntax_error,
    understands,
    unreadable,
)

LINUX, WINDOWS = OsFamily.LINUX, OsFamily.WINDOWS
DIRECTORY = task_directory("risk", "task001")
WD = working_directory(DIRECTORY)


class Outcome(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str
    found: bool


class Machine:
    """A node with the environment of one task, on which lines run one after the other."""

    def __init__(self, os, **settings):
        self.os = os
        self.root = NodeRoot.of(os)
        node = NodeFacts("contoso", "https://contoso.example", "shared", "tvm-1", self.root)
        task = TaskFacts(TaskKind.TASK, DIRECTORY, "task001", "risk")
        self.env = variables(node, task, task_settings=settings)
        self.files = NodeFiles()

    def run(self, line, exit_code=None, stdout="", stderr=""):
        result = run(line, self.root, self.env, self.files, WD, SimulatedOutput(exit_code, stdout, stderr))
        return Outcome(*result[:4])

    def texts(self):
        return {key: text for key in self.files.walk() if (text := self.files.read(key)) is not None}


@pytest.fixture
def linux():
    return Machine(LINUX, GREETING="hello  world", EMPTY="")


@pytest.fixture
def windows():
    return Machine(WINDOWS, GREETING="hello  world")


def sh(script):
    return f"/bin/sh -c '{script}'"


def cmd(script):
    return f"cmd /c {script}"


# --- without a shell ------------------------------------------------------------------------------------------------


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
    assert not leaves_nothing(line, LINUX)


def test_task_4_the_first_line_of_a_script_names_its_shell_and_its_options(linux):
    linux.files.write(f"{WD}/run.sh", "#!/usr/bin/env bash\nset -o pipefail; false | true; echo $?\n")
    assert linux.run("./run.sh").stdout == "1\n"
    linux.files.write(f"{WD}/run.sh", "#!/bin/sh -e\nfalse\necho never\n")
    assert linux.run("./run.sh") == (1, "", "", True)


@pytest.mark.parametrize("text", ["#!/usr/bin/python3\nprint(1)\n", "\x7fELF", ""])
def test_task_4_other_files_are_programs_like_any_other(linux, text):
    linux.files.write(f"{WD}/price.sh", text)
    assert linux.run("./price.sh", 3, "out") == (3, "out", "", True)


BATCH = "@echo off\r\nrem comment\r\nset WHO=%2\r\necho %1 %WHO% %~dp0 100%%> out.txt\r\n{}\r\necho end\r\n"


@pytest.mark.parametrize(
    ("line", "code", "stdout"),
    [
        ("exit /b 3", 3, ""),
        ("type none\r\nexit /b %ERRORLEVEL%", 1, ""),
        ("price %*", 0, "101\nend\n"),
        ("@echo %0", 0, "D:\\batch\\tasks\\workitems\\risk\\job-1\\task001\\wd\\run.bat\nend\n"),
    ],
)
@pytest.mark.parametrize("call", ["run.bat a b", cmd("run.bat a b"), cmd(r".\run.bat a b")])
def test_task_4_and_node_1_a_batch_file_on_the_node_is_run_line_by_line(windows, call, line, code, stdout):
    windows.files.write(f"{WD}/run.bat", BATCH.format(line))
    ran = windows.run(call, stdout="101\n")
    assert (ran.exit_code, ran.stdout) == (code, stdout)
    assert windows.files.read(f"{WD}/out.txt") == f"a b {windows.root.native(WD)}\\ 100%\n"
    assert not leaves_nothing(call, WINDOWS)


@pytest.mark.parametrize("text", ["if exist a echo b\r\n", "for %%i in (1 2) do echo %%i\r\n", ""])
def test_task_4_a_batch_file_beyond_the_grammar_is_a_program_like_any_other(windows, text):
    windows.files.write(f"{WD}/run.cmd", text)
    assert windows.run("run.cmd", 3, "out") == (3, "out", "", True)


NODE_1 = {
    OsFamily.LINUX: ["/usr/local/bin/price --deal 1", "python3 price.py", "./price", "/bin/bash price.sh"],
    OsFamily.WINDOWS: ["price.exe /deal 1", "price.cmd", "cmd /c price.bat", "powershell.exe -File price.ps1"],
}


@pytest.mark.parametrize(("os", "line"), [(os, line) for os, lines in NODE_1.items() for line in lines])
def test_node_1_any_program_of_the_operating_system_can_be_run(os, line):
    assert Machine(os).run(line, 3, "out", "err") == (3, "out", "err", True)


@pytest.mark.parametrize("line", ["price --deal 1 > out.txt", "/bin/sh run.sh", "powershell -c ls > x", "bash"])
@pytest.mark.parametrize("os", OsFamily)
def test_task_4_an_unknown_program_exists_and_does_what_simulate_says(os, line):
    machine = Machine(os)
    assert machine.run(line, 3, "out", "err") == (3, "out", "err", True)
    assert machine.run(line) == (0, "", "", True)
    assert machine.texts() == {}
    assert not understands(line, os)


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
    assert is_found(line, os) is found
    assert Machine(os).run(line).found is found


def test_linux_programs_run_without_a_shell(linux):
    assert linux.run("mkdir -p 'a b'").exit_code == 0
    assert linux.run("touch 'a b/x'").exit_code == 0
    assert linux.run("ls 'a b'").stdout == "x\n"


def test_a_shell_of_the_other_system_is_only_a_program(linux, windows):
    assert linux.run("cmd /c echo hi > x", stdout="simulated").stdout == "simulated"
    assert windows.run("/bin/sh -c 'echo hi > x'", stdout="simulated").stdout == "simulated"
    assert linux.texts() == windows.texts() == {}


# --- the sample -----------------------------------------------------------------------------------------------------

SHARED_FILE = r"%AZ_BATCH_NODE_SHARED_DIR%\job_prep_and_release.txt"


def test_sample_2_the_command_lines_of_the_sample(windows):
    windows.run(f"cmd /c echo %AZ_BATCH_NODE_ID% tasks: >{SHARED_FILE}")
    windows.run(f"cmd /c echo   %AZ_BATCH_TASK_ID% >> {SHARED_FILE}")
    windows.run(f"cmd /c echo   %az_batch_task_id% >> {SHARED_FILE}")
    assert windows.texts() == {"shared/job_prep_and_release.txt": "tvm-1 tasks:\n  task001\n  task001\n"}
    windows.run(f"cmd /c echo %AZ_BATCH_NODE_ID% tasks: >{SHARED_FILE}")
    assert windows.files.read("shared/job_prep_and_release.txt") == "tvm-1 tasks:\n"
    assert windows.run(f"cmd /c del {SHARED_FILE}") == (0, "", "", True)
    assert windows.texts() == {}
    missing = windows.run(f"cmd /c del {SHARED_FILE}")
    assert missing.exit_code == 0
    assert missing.stderr == "Could Not Find D:\\batch\\tasks\\shared\\job_prep_and_release.txt\n"


# --- both shells ----------------------------------------------------------------------------------------------------


def test_an_unknown_program_fills_its_redirection(linux):
    line = '/bin/sh -c "fetch-market-data > $AZ_BATCH_NODE_SHARED_DIR/market.csv && ls $AZ_BATCH_NODE_SHARED_DIR"'
    assert linux.run(line, stdout="a,b\n").stdout == "market.csv\n"
    assert linux.texts() == {"shared/market.csv": "a,b\n"}
    assert linux.run(line, exit_code=1, stdout="half") == (1, "", "", True)
    assert linux.texts() == {"shared/market.csv": "half"}
    assert not understands(line, LINUX)


def test_a_stated_exit_code_is_that_of_the_whole_line(linux, windows):
    assert linux.run(sh("exit 3"), exit_code=0).exit_code == 0
    assert linux.run(sh("price || echo failed"), exit_code=1) == (1, "failed\n", "", True)
    assert windows.run(cmd("exit 3"), exit_code=7).exit_code == 7


def test_what_an_unknown_program_may_have_written_is_not_missing(linux):
    assert linux.run(sh("tar xzf data.tgz; cp data.csv copy.csv; cd data && cat x")).exit_code == 0
    assert linux.run(sh("cp data.csv copy.csv")).exit_code == 1


@pytest.mark.parametrize(
    ("line", "stdout"),
    [
        (sh("echo $GREETING"), "hello world\n"),
        (sh('echo "$GREETING" "${GREETING}!"'), "hello  world hello  world!\n"),
        ("""sh -c "echo '$GREETING' x" """, "$GREETING x\n"),
        (sh(r"echo \$GREETING $NOPE. ${NOPE:-none} $EMPTY x"), "$GREETING . none x\n"),
        (sh("A=1; export B=2; echo $A$B; unset A; echo $A-"), "12\n-\n"),
        (sh("false; echo $?; true; echo $?"), "1\n0\n"),
        (sh("false && echo a || echo b; true || echo c && echo d"), "b\nd\n"),
        (sh("echo a#b # c"), "a#b\n"),
        (sh("echo hi | cat"), "hi\n"),
        (sh("pwd; cd /opt; pwd"), f"/mnt/batch/tasks/{WD}\n/opt\n"),
        (sh('printf "%s is %d%%\\n" a 1 b 2'), "a is 1%\nb is 2%\n"),
        (sh("echo -n a; echo -e b\\\\tc"), "a-e b\tc\n"),
        ("bash -c 'echo -n a; echo -e b\\\\tc; echo d\\\\te'", "ab\tc\nd\\te\n"),
        ("bash -c 'set -e; false; echo no'", ""),
        ("bash -euo pipefail -c 'echo $AZ_BATCH_TASK_ID; false; echo no'", "task001\n"),
        ("/bin/bash -ec 'false || true; [ a = b ] && echo x; echo yes'", "yes\n"),
        (sh("echo a & wait"), "a\n"),
    ],
)
def test_sh_expansion_and_control_flow(linux, line, stdout):
    assert understands(line, LINUX)
    assert linux.run(line).stdout == stdout


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        (sh("echo a > x; echo b >> x; echo c >>y"), {"x": "a\nb\n", "y": "c\n"}),
        (sh("cat nofile > x 2>&1"), {"x": "cat: nofile: No such file or directory\n"}),
        (sh("cat nofile 2> e; echo out >&2"), {"e": "cat: nofile: No such file or directory\n"}),
        (sh("{ echo a; } > x"), {"x": "a\n"}),
        (sh("echo a > x; cat < x > y; cp x z; mv z w; rm x"), {"y": "a\n", "w": "a\n"}),
        (sh("mkdir -p d/e; touch d/e/x d/y; cp -r d f; rm -rf d; rmdir f/e; rm f/*"), {"f/e/x": ""}),
        (sh("echo a > x > /dev/null"), {"x": ""}),
        (sh("touch a.txt b.txt c.csv; rm *.txt"), {"c.csv": ""}),
        (sh('touch "*.txt" a.txt; rm "*.txt"'), {"a.txt": ""}),
        (sh("echo x > no/such/x"), {}),
        (
            sh("mkdir d; echo a > d/x; cp -r d d; cp -r d d/e; cp -r ../../../../.. d; mkdir f; cp d/* f"),
            {"d/x": "a\n", "f/x": "a\n"},
        ),
        (
            sh("mkdir -p d/e f; touch d/e/x d/y f/e f/y; echo 1 > d/y; cp -r d/* f; ls */*"),
            {"d/e/x": "", "d/y": "1\n", "f/e": "", "f/y": "1\n"},
        ),
        (sh("A=$GREETING; echo a > $A; mkdir d; echo b > d"), {"hello  world": "a\n"}),
    ],
)
def test_sh_files(linux, line, texts):
    linux.run(line)
    assert linux.texts() == {f"{WD}/{name}": text for name, text in texts.items()}


@pytest.mark.parametrize(
    ("script", "exit_code"),
    [
        ("exit 3", 3),
        ("exit 256", 0),
        ("exit -1", 2),
        ("exit x", 2),
        ("false; exit", 1),
        ("rm x", 1),
        ("rm -f x", 0),
        ("mkdir d; rm d", 1),
        ("mkdir d; mkdir d", 1),
        ("cat x", 1),
        ("ls x", 2),
        ("cd x", 2),
        ("[ -f x ]", 1),
        ("touch x; test -f x && [ ! -d x ] && [ -e x ]", 0),
        ("[ -s x ]", 1),
        ("[ 2 -gt 1 ]", 0),
        ("[ a -gt 1 ]", 2),
        ("[ a = a", 2),
        ("touch a; mkdir -p a/b", 1),
        ("test", 1),
        ("echo x > no/such", 2),
        ("sleep 5", 0),
    ],
)
def test_sh_exit_codes(linux, script, exit_code):
    assert understands(sh(script), LINUX)
    assert linux.run(sh(script)).exit_code == exit_code


@pytest.mark.parametrize(
    "script",
    [
        "[[ a = a ]]",
        "select x in a; do a; done",
        "a=(1 2)",
        "diff <(a) <(b)",
        "echo ${A//x/y}",
        "for ((;;)); do a; done",
    ],
)
def test_beyond_the_grammar_a_script_is_an_unknown_program(linux, script):
    line = f"/bin/sh -c '{script}'"
    assert not understands(line, LINUX)
    assert linux.run(line, 4, "out") == (4, "out", "", True)
    assert linux.texts() == {}


@pytest.mark.parametrize("line", ["price --deal 1", sh("price > x && ls"), "cmd /c echo hi", "", "cd /tmp", sh("")])
def test_a_plain_program_is_readable(line):
    assert unreadable(line, LINUX) is None


@pytest.mark.parametrize("script", ["[[ a = a ]]", "select x in a; do a; done", "diff <(ls) <(ls)"])
def test_what_only_bash_reads_is_unreadable(script):
    assert unreadable(f"bash -c '{script}'", LINUX)


@pytest.mark.parametrize(
    ("script", "stdout"),
    [
        ('"echo hello world"', "hello world\n"),
        ("echo %greeting%  %NOPE% 5%", "hello  world  %NOPE% 5%\n"),
        ("echo $GREETING 'a'", "$GREETING 'a'\n"),
        ("echo.", "\n"),
        ("echo", "ECHO is on.\n"),
        ("@echo off & echo a^&b", "a&b\n"),
        ('echo "a & b"', '"a & b"\n'),
        ("set X=1 & echo %X%", "%X%\n"),
        ("set AZ_BATCH_TASK_I", "AZ_BATCH_TASK_ID=task001\n"),
        ("cd", f"D:\\batch\\tasks\\{WD}\n".replace("/", "\\")),
        ("cd .. & cd", f"D:\\batch\\tasks\\{DIRECTORY}\n".replace("/", "\\")),
        ("echo a>nul & echo b", "b\n"),
        ("exit 1 || echo a", ""),
        ("type x || echo a && echo b", "a\nb\n"),
        (r"mkdir a\b & echo x>a\b\c.txt & dir /s /b a", f"D:\\batch\\tasks\\{WD}\\a\\b\n".replace("/", "\\")),
    ],
)
def test_cmd_expansion_and_control_flow(windows, script, stdout):
    assert understands(cmd(script), WINDOWS)
    assert windows.run(cmd(script)).stdout.startswith(stdout)
    assert stdout or not windows.run(cmd(script)).stdout


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        (r'"md a\b && echo 1>a\b\c&copy a\b\c ..\d & move a\b\c e"', {"../d": "ECHO is on.\n", "e": "ECHO is on.\n"}),
        (r'"md a\b && echo hi>a\b\c&copy a\b\c ..\d & move a\b\c e"', {"../d": "hi\n", "e": "hi\n"}),
        ("echo a> x & echo b>>x & type x > y & del x", {"y": "a\nb\n"}),
        ("type x 2>err.txt", {"err.txt": "The system cannot find the file specified.\n"}),
        ("type x > all.txt 2>&1", {"all.txt": "The system cannot find the file specified.\n"}),
        ("echo 12>x", {"x": "12\n"}),
        ("echo 1 2>x", {"x": ""}),
        ("echo a>a.txt & echo b>b.txt & echo c>c.csv & del *.txt", {"c.csv": "c\n"}),
        ('echo a>"a b.txt" & ren "a b.txt" c', {"c": "a\n"}),
        (r"md d\e & echo a>d\e\x & rmdir d & rd /s /q d", {}),
        (r"echo a>D:\batch\tasks\workitems\risk\x", {"../../../x": "a\n"}),
    ],
)
def test_cmd_files(windows, script, texts):
    windows.run(cmd(script))
    assert windows.texts() == {windows.root.key(name, WD): text for name, text in texts.items()}


@pytest.mark.parametrize(
    ("script", "exit_code"),
    [
        ("exit 3", 3),
        ("exit /b 4", 4),
        ("exit 3221225786", -1073741510),
        ("type x", 1),
        ("cd x", 1),
        ("del x", 0),
        ("md x & md x", 1),
        (r"echo a>x & md x\y", 1),
        ("rd x", 2),
        ("echo a>x & copy x y & dir y", 0),
        ("copy x y", 1),
        (r"echo a>no\x", 1),
    ],
)
def test_cmd_exit_codes(windows, script, exit_code):
    assert understands(cmd(script), WINDOWS)
    assert windows.run(cmd(script)).exit_code == exit_code


@pytest.mark.parametrize("script", ["if exist x del x", "for %i in (1) do echo %i", "(echo a)", "echo a &&", "echo >"])
def test_beyond_the_grammar_of_cmd(windows, script):
    assert not understands(cmd(script), WINDOWS)
    assert windows.run(cmd(script), 4, "out") == (4, "out", "", True)


def test_files_outside_the_root_are_kept_apart(linux):
    assert linux.run(sh("echo a > /tmp/x; cat /tmp/x; cat ../../../../../../../../tmp/x")).stdout == "a\na\n"
    assert linux.texts() == {}


@pytest.mark.parametrize(
    ("line", "os", "expected_ms"),
    [
        ("echo hi", LINUX, 1_000),
        ("sleep 30", LINUX, 30_000),
        (sh("sleep 1.5 && echo a; sleep 1m"), LINUX, 61_500),
        (sh("sleep 30 && price"), LINUX, None),
        ("price", LINUX, None),
        ("timeout /t 5 /nobreak", WINDOWS, 5_000),
        (cmd("timeout 90 >nul"), WINDOWS, 90_000),
        (cmd("dir"), WINDOWS, 1_000),
        ("dir", WINDOWS, None),
    ],
)
def test_how_long_a_line_takes(line, os, expected_ms):
    assert duration_ms(line, os) == expected_ms


# --- properties -----------------------------------------------------------------------------------------------------

PARTS = st.sampled_from(
    [
        *(
            "echo",
            "cd",
            "rm",
            "-rf",
            "del",
            "copy",
            "cp",
            "-r",
            "mv",
            "move",
            "ren",
            "ls",
            "dir",
            "cat",
            "type",
            "test",
        ),
        *("[", "]", "mkdir", "-p", "rmdir", "touch", "printf", "%s", "set", "-e", "export", "exit", "sleep", "1", "a"),
        *("b", "a/b", "..", "*", ".", ";", "&", "&&", "||", "|", ">", ">>", "2>", "2>&1", "<", "'", '"', "\\", "^"),
        *("$A", "${A}", "%A%", "$", "(", "`", "A=1", "/", "\\x", "/s", "{", "}", "#", "\n", "\ud800", "é"),
    ]
)
LINES = st.one_of(
    st.text(max_size=40),
    st.builds(
        "{} {}".format,
        st.sampled_from(["cmd /c", "sh -c", "bash -ec '", '/bin/sh -c "', 'cmd.exe /C "', ""]),
        st.lists(PARTS, max_size=12).map(" ".join),
    ),
)


@given(line=LINES, os=st.sampled_from(OsFamily), exit_code=st.none() | st.integers(0, 3))
def test_no_command_line_raises(line, os, exit_code):
    machine = Machine(os, A="a b")
    result = machine.run(line, exit_code, "out")
    assert understands(line, os) is (duration_ms(line, os) is not None)
    assert result.found is is_found(line, os)
    if result.found and exit_code is not None:
        assert result.exit_code == exit_code
    for key in machine.texts():
        assert ".." not in key.split("/")
        assert not machine.files.is_dir(key)


@given(words=st.lists(PARTS.filter(lambda part: part not in ("'", '"', "\\", "\\x", "\n")), max_size=8))
def test_no_expansion_outside_a_shell(words):
    machine = Machine(LINUX, A="a b")
    printed = [word for word in words if word not in ("-e", "-rf")]
    assert machine.run(" ".join(["echo", *printed])).stdout == " ".join(printed) + "\n"
    assert machine.texts() == {}


# --- bounds and hostile scripts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("while true; do :; done", "100,000 steps"),
        ("until false; do :; done", "100,000 steps"),
        ("while true; do echo y; done", "steps"),
        ("x=y; while true; do x=$x$x; done", "characters"),
        ("echo a > f; while true; do cat f f > g; cat g g > f; done", "characters of output"),
        ("seq 1 100000000", "steps"),
        ("printf %999999999d 1", "characters"),
        ("set -- a b; while :; do set -- $@ $@; done", "steps"),
        ("f() { f; }; f", "calls itself"),
        ("f() { g; }; g() { (f); }; f", "calls itself"),
        ("; ".join(f"f{number}() {{ f{number + 1}; }}" for number in range(200)) + "; f0", "inside each other"),
        ('e=\'eval "$e"\'; eval "$e"', "inside each other"),
        ("touch a b c d; while true; do ls > /dev/null; echo * > x; done", "steps"),
    ],
)
def test_task_23_a_script_ends_at_its_bounds(linux, script, reason):
    line = f"/bin/sh -c {shlex.quote(script)}"
    before = time.perf_counter()
    result = linux.run(line)
    assert time.perf_counter() - before < 5
    assert result.exit_code == 1
    assert reason in result.stderr.splitlines()[-1]
    assert unreadable(line, LINUX) is None


def test_task_23_a_stated_exit_code_wins_over_the_bounds(linux):
    assert linux.run(sh("while true; do :; done"), exit_code=0).exit_code == 0


@pytest.mark.parametrize(
    "script",
    [
        *("(" * 5_000, "$(" * 5_000, "{ " * 5_000, "${x:-" * 5_000, "$((" * 5_000, '"$(' * 5_000),
        "if true; then " * 5_000,
        "echo $(" * 5_000 + ")" * 5_000,
        "(" * 5_000 + "echo a" + ")" * 5_000,
        "case x in x) " * 3_000,
    ],
    ids=lambda script: script[:20],
)
def test_task_23_a_script_that_is_nested_too_deeply_ends_with_exit_code_1(linux, script):
    line = f"/bin/sh -c {shlex.quote(script)}"
    result = linux.run(line)
    assert result == (1, "", "sh: stopped at more than 40 levels of a script inside each other\n", True)
    assert unreadable(line, LINUX) is None
    assert syntax_error(line, LINUX) is None


@pytest.mark.parametrize("script", ["f() " * 5_000, "`" * 5_001], ids=lambda script: script[:20])
def test_task_25_what_has_no_end_is_refused_with_a_sentence(linux, script):
    line = f"/bin/sh -c {shlex.quote(script)}"
    result = linux.run(line)
    assert result.exit_code == 2
    assert "Syntax error" in result.stderr
    assert syntax_error(line, LINUX)


@pytest.mark.parametrize(
    "script",
    [
        "echo $((" + "(" * 5_000 + "1" + ")" * 5_000 + "))",
        "echo $((" + "-" * 5_000 + "1))",
        "echo $((" + "1?" * 5_000 + "1))",
        "test " + "\\( " * 5_000 + "a" + " \\)" * 5_000,
        "test " + "! " * 5_000 + "a",
        "echo a | grep -E '" + "(" * 5_000 + "a" + ")" * 5_000 + "'",
        "echo " + "a" * 2_000 + " | grep -E '(a*)*b'",
        "echo " + "a" * 2_000 + " | grep '.*.*.*.*.*.*.*b'",
        "case " + "a" * 2_000 + " in " + "*a" * 200 + "*b) echo x;; esac",
        "x=" + "a" * 20_000 + "; echo ${x%%*b*c} ${x##*b*c} | wc -c",
        "eval eval eval eval eval echo '$$'",
        "! " * 5_000 + "true",
        "a | " * 5_000 + "a",
        "; ".join(["true"] * 5_000),
        "echo a && " * 5_000 + "echo b",
    ],
    ids=lambda script: script[:20],
)
def test_task_23_hostile_scripts_end_soon(linux, script):
    before = time.perf_counter()
    linux.run(f"/bin/sh -c {shlex.quote(script)}")
    assert time.perf_counter() - before < 5


@pytest.mark.parametrize(
    ("script", "stdout", "complaint"),
    [
        ("echo a\necho b\nif", "a\nb\n", "sh: 3: Syntax error"),
        ("echo a; fi", "", 'sh: 1: Syntax error: "fi" unexpected'),
        ("echo 'open", "", "Unterminated quoted string"),
        ("if true; then echo a", "", "end of file unexpected"),
    ],
)
def test_task_25_a_syntax_error_ends_the_script_with_2(linux, script, stdout, complaint):
    line = f"/bin/sh -c {shlex.quote(script)}"
    result = linux.run(line)
    assert (result.exit_code, result.stdout) == (2, stdout)
    assert complaint in result.stderr
    assert syntax_error(line, LINUX) is not None
    assert unreadable(line, LINUX) is None


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo a\nif [[ a ]]; then b; fi", "line 2, column 4: [[ ... ]]"),
        ("a=(1 2)", "an array"),
        ("select x in a; do b; done", "select"),
        ("diff <(a) <(b)", "process substitution"),
        ("declare -A x", "the command declare"),
        ("echo ${x//a/b}", "in the form of bash"),
        ("for ((i=0;i<3;i++)); do a; done", "for (( ... ))"),
        ("cat <<< x", "<<<"),
        ("((i++))", "(( ... ))"),
        ("x+=1", "an array or +="),
    ],
)
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_task_25_a_construct_of_bash_is_unreadable(shell, script, reason):
    found = unreadable(f"{shell} -c {shlex.quote(script)}", LINUX)
    assert found is not None
    assert reason in found
    assert found.startswith("line ")


@pytest.mark.parametrize(
    ("line", "by_chance"),
    [
        (sh("sleep 3; echo a; sleep 4"), False),
        (sh("for i in 1 2; do sleep 3; done"), True),
        (sh("sleep $N"), True),
        (sh("false && sleep 3"), True),
        (sh("exit; sleep 3"), True),
        (sh("echo asleep"), False),
        (sh("while true; do work; sleep 3; done"), False),
        ("sleep 3", False),
    ],
)
def test_task_24_sleeping_may_depend_on_the_run(line, by_chance):
    assert sleeps_by_chance(line, LINUX) is by_chance


ARGUMENTS = st.lists(st.sampled_from([*"ab '\"\\ \t\n$", "\\\\", "''", "é"]), max_size=14).map("".join)


@given(line=ARGUMENTS)
def test_arguments_are_split_as_shlex_does(line):
    try:
        expected = shlex.split(line)
    except ValueError:
        expected = line.split()
    program = parse("price " + line, LINUX)
    (command,) = program.commands()
    assert [word.constant for word in command.words[1:]] == expected


@pytest.mark.parametrize("end", ['"', "'", "\\"])
def test_task_4_a_long_line_with_an_open_quote_is_split_at_once(end):
    """There are very many ways to divide a word, and none of them closes the quote."""
    before = time.perf_counter()
    program = parse(f"price {'a' * 40_000} b{end}", LINUX)
    assert time.perf_counter() - before < 5
    (command,) = program.commands()
    assert [word.constant for word in command.words] == ["price", "a" * 40_000, f"b{end}"]
