"""Tests of scripts that do not end, that are nested too deeply, or that the grammar does not have."""

from __future__ import annotations

import shlex
import time

import pytest

from engine.shell.small_shell import facts_of
from tests.units.test_small_shell import LINUX, sh


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
    before = time.process_time()
    result = linux.run(line)
    assert time.process_time() - before < 5
    assert result.exit_code == 1
    assert reason in result.stderr.splitlines()[-1]
    assert facts_of(line, LINUX).unreadable is None


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
    assert facts_of(line, LINUX).unreadable is None
    assert facts_of(line, LINUX).syntax_error is None


@pytest.mark.parametrize("script", ["f() " * 5_000, "`" * 5_001], ids=lambda script: script[:20])
def test_task_25_what_has_no_end_is_refused_with_a_sentence(linux, script):
    line = f"/bin/sh -c {shlex.quote(script)}"
    result = linux.run(line)
    assert result.exit_code == 2
    assert "Syntax error" in result.stderr
    assert facts_of(line, LINUX).syntax_error


@pytest.mark.parametrize(
    "script",
    [
        "echo $((" + "(" * 5_000 + "1" + ")" * 5_000 + "))",
        "echo $((" + "-" * 5_000 + "1))",
        "echo $((" + "1?" * 5_000 + "1))",
        "echo $((" + "1+" * 50_000 + "1))",
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
    before = time.process_time()
    linux.run(f"/bin/sh -c {shlex.quote(script)}")
    assert time.process_time() - before < 5


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
    assert facts_of(line, LINUX).syntax_error is not None
    assert facts_of(line, LINUX).unreadable is None


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo a\nif [[ a ]]; then b; fi", "line 2, column 4: [[ ... ]]"),
        ("a=(1 2)", "an array"),
        ("select x in a; do b; done", "select"),
        ("diff <(a) <(b)", "process substitution"),
        ("declare -A x", "the command declare"),
        ("while getopts a o; do b; done", "the command getopts"),
        ("echo ${x//a/b}", "in the form of bash"),
        ("for ((i=0;i<3;i++)); do a; done", "for (( ... ))"),
        ("cat <<< x", "<<<"),
        ("((i++))", "(( ... ))"),
        ("x+=1", "an array or +="),
    ],
)
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_task_25_a_construct_of_bash_is_unreadable(shell, script, reason):
    found = facts_of(f"{shell} -c {shlex.quote(script)}", LINUX).unreadable
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
    assert facts_of(line, LINUX).needs_rehearsal is by_chance
