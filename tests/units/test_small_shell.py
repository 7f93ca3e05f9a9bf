from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.terms import OsFamily
from engine.shell.date import formatted
from engine.shell.simulated import span_ms
from engine.shell.small_shell import facts_of, parse
from engine.shell.syntax import simple_commands
from engine.specs.common import Simulate
from tests.units.conftest import DIRECTORY, WD, Machine

LINUX, WINDOWS = OsFamily.LINUX, OsFamily.WINDOWS


def sh(script):
    return f"/bin/sh -c '{script}'"


def cmd(script):
    return f"cmd /c {script}"


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
    assert facts_of(line, LINUX).understood_ms is None


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
    assert facts_of(line, LINUX).understood_ms is not None
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
    assert facts_of(sh(script), LINUX).understood_ms is not None
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
    assert facts_of(line, LINUX).understood_ms is None
    assert linux.run(line, 4, "out") == (4, "out", "", True)
    assert linux.texts() == {}


@pytest.mark.parametrize(
    "script",
    [
        *("date -d noon", "date -d 2026-01-05 --rfc-3339=date", "sort -M", "sort -c", "seq -f %g 3", "uniq -f1"),
        *("expr length abc", "expr substr abc 1 2", "env -C / pwd", "grep -f a b", "grep -1 a b", "grep --include=* a"),
        *(
            "sort -z",
            "basename -a a b",
            "env -0",
            "printf %*d 5 4",
            "printf %#x 4",
            "seq -2 1",
            "date +%^a",
            "date +%10Y",
        ),
        *("date -d tomorrow +%F", "date -Iseconds", "date +%q", "sort -k2 f", "sort -t, f", "sort --num f"),
        *("grep -o a f", "grep -A1 a f", "grep -r a .", "grep -w a f", 'grep "\\bfoo" f', 'grep "\\(a\\)\\1" f'),
        *(
            "head -c 3 f",
            "tail -n 1K f",
            *(
                "expr a : b",
                "expr a = b",
                "expr 0 '|' 1",
                "ls --nonsense",
                *("ls -S", "sort -o f f", "uniq f g", "cat -n f"),
                "grep -Y a",
                "sort -o",
                "head --lines",
                "sleep -1",
            ),
            "printf %.2f 1",
            "tr -cd a-z",
            "umask",
            "ulimit -n",
            "export -p",
        ),
    ],
)
def test_with_an_option_that_is_not_known_a_call_is_an_unknown_program(linux, script):
    assert linux.run(sh(script), 4, "out") == (4, "out", "", True)


@pytest.mark.parametrize(
    ("clock_ms", "form", "text"),
    [
        (0, "%F %T|%D %R|%c", "1970-01-01 00:00:00|01/01/70 00:00|Thu Jan  1 00:00:00 1970"),
        (1_767_603_600_042, "%s%3N %N %A %d %B %Y", "1767603600042 042000000 Monday 05 January 2026"),
        (1_767_603_600_000, "%_d|%-m|%a|%_e|%e|%_H|%k|%-S|%_M", " 5|1|Mon| 5| 5| 9| 9|0| 0"),
        (1_798_675_200_000, "%j %V %U %u %p %b %h %y", "365 53 52 4 AM Dec Dec 26"),
        (-1_000, "%F %T %z %Z", "1969-12-31 23:59:59 +0000 UTC"),
        (0, "a%%b%n%t%", "a%b\n\t%"),
    ],
)
def test_task_24_a_moment_in_the_formats_of_date(clock_ms, form, text):
    assert formatted(clock_ms, form) == text


@pytest.mark.parametrize("line", ["price --deal 1", sh("price > x && ls"), "cmd /c echo hi", "", "cd /tmp", sh("")])
def test_a_plain_program_is_readable(line):
    assert facts_of(line, LINUX).unreadable is None


@pytest.mark.parametrize("script", ["[[ a = a ]]", "select x in a; do a; done", "diff <(ls) <(ls)"])
def test_what_only_bash_reads_is_unreadable(script):
    assert facts_of(f"bash -c '{script}'", LINUX).unreadable


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
        (r"mkdir a\b & echo x>a\b\c.txt & dir /b a & dir a", "b\n Directory of D:\\batch\\tasks\\"),
    ],
)
def test_cmd_expansion_and_control_flow(windows, script, stdout):
    assert facts_of(cmd(script), WINDOWS).understood_ms is not None
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
        ('echo a>"a b.txt" & move "a b.txt" c', {"c": "a\n"}),
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
    assert facts_of(cmd(script), WINDOWS).understood_ms is not None
    assert windows.run(cmd(script)).exit_code == exit_code


@pytest.mark.parametrize("script", ["if exist x del x", "for %i in (1) do echo %i", "(echo a)", "echo a &&", "echo >"])
def test_beyond_the_grammar_of_cmd(windows, script):
    assert facts_of(cmd(script), WINDOWS).understood_ms is None
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
    assert facts_of(line, os).understood_ms == expected_ms


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
    assert result.found is facts_of(line, os).found
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


ARGUMENTS = st.lists(st.sampled_from([*"ab '\"\\ \t\n$", "\\\\", "''", "é"]), max_size=14).map("".join)


@given(line=ARGUMENTS)
def test_arguments_are_split_as_shlex_does(line):
    try:
        expected = shlex.split(line)
    except ValueError:
        expected = line.split()
    program = parse("price " + line, LINUX)
    (command,) = simple_commands(program.text.script)
    assert [word.constant for word in command.words[1:]] == expected


@pytest.mark.parametrize("end", ['"', "'", "\\"])
def test_task_4_a_long_line_with_an_open_quote_is_split_at_once(end):
    """There are very many ways to divide a word, and none of them closes the quote."""
    before = time.process_time()
    program = parse(f"price {'a' * 40_000} b{end}", LINUX)
    assert time.process_time() - before < 5
    (command,) = simple_commands(program.text.script)
    assert [word.constant for word in command.words] == ["price", "a" * 40_000, f"b{end}"]


def test_how_long_a_process_takes_asks_for_its_line_only_where_no_simulate_says_so():
    """Reading twenty thousand lines took most of the time of `check`."""
    asked = []

    def line():
        asked.append(True)
        return facts_of("/bin/sh -c 'sleep 5'", OsFamily.LINUX)

    assert span_ms(line, Simulate.from_wire({"duration": "PT60S"}), None) == (60_000, 60_000)
    assert asked == []
    assert span_ms(line, Simulate.from_wire({"exitCode": 1}), None) == (5_000, 5_000)
    assert asked
