"""The small shell: reads a command line and runs it on a node's simulated files (TASK-4, ENV-3).

A command line is a program with arguments. It does not run under a shell unless it starts one: ``cmd /c ...`` on
Windows, ``sh -c "..."`` or ``bash -c '...'`` on Linux. Parsing expands only ``%NAME%``, which cmd replaces before it
reads a line, so callers pass the variables.

The small shell reads the language of the POSIX shell and knows the commands that samples and preparation tasks consist
of. Every other program is assumed to exist and behaves as ``simulate:`` says, anywhere in the script: ``fetch-data >
$AZ_BATCH_NODE_SHARED_DIR/x && ls`` creates the file with the simulated output. A given exit code applies to the whole
command line. ``/bin/sh`` is dash, as on the images of Ubuntu and Debian; ``bash`` differs from it in what scripts
notice (``echo``, ``pipefail``, exit codes of built-ins). Lines end in a line feed on Windows too (decided here).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from engine.base.paths import SYSTEM_DIRECTORIES, SYSTEM_FILES, NodeRoot
from engine.base.terms import OsFamily
from engine.base.values import SECOND_MS, lazy_regex, shortened
from engine.shell.call import PROGRAMS, RUNNERS, SHELL_BUILTINS, NotSimulated, ProgramOptions, ShellProcess, WrongUsage
from engine.shell.cmd import percent_expanded, read_cmd_script, windows_arguments
from engine.shell.date import formatted, slept_ms
from engine.shell.expansion import random_number
from engine.shell.files import PROCESS_ID, STEP_LIMIT, BoundReached, InputStream, NodeFiles, Run, Stream
from engine.shell.interpreter import Interpreter, ScriptText, SimulatedOutput, base_name, builtin_of, read_script
from engine.shell.lexer import ASSIGNMENT
from engine.shell.protocol import LineFacts, Output
from engine.shell.syntax import (
    KEYWORDS,
    NO_PROGRAM_ON_LINUX,
    NO_PROGRAM_ON_WINDOWS,
    SHELL_OPTIONS,
    Arithmetic,
    Command,
    Function,
    Parameter,
    Piece,
    Script,
    Shell,
    ShellCommand,
    Substitution,
    Word,
    all_commands,
    is_missing,
    is_of_other_system,
    is_of_shell,
    literal,
    only,
    simple_commands,
)

_BEYOND_CMD = "it uses a construct of cmd outside the small shell's grammar"


class ParsedLine(NamedTuple):
    """A parsed command line. Without a shell the script is a single command with literal words.

    ``arguments`` are ``$0``, ``$1`` and so on; ``options`` are those of the shell, such as ``errexit`` for ``sh -e``.
    """

    shell: Shell
    text: ScriptText
    bash: bool = False
    arguments: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()


_CMD_INVOCATION = lazy_regex(
    r'\s*"?(?:[^"\s]*[\\/])?cmd(?:\.exe)?"?(?:\s*/[^\s/c][^\s/]*)*\s*/c(?P<script>.*)', re.IGNORECASE | re.DOTALL
)
_SH_INVOCATION = lazy_regex(r"\s*(?:/usr)?(?:/bin/)?(?P<bash>ba|da)?sh\s")


def parse(command_line: str, os: OsFamily, variables: Mapping[str, str] | None = None) -> ParsedLine:
    """Parse a command line as the operating system and its shell would; never raise.

    ``variables`` replace ``%NAME%`` inside ``cmd /c``, without regard to case; unknown ones stay as written.
    """
    if os is OsFamily.LINUX:
        return _parse_linux(command_line)
    invocation = _CMD_INVOCATION.fullmatch(command_line)
    if invocation is None:
        return _without_shell(windows_arguments(command_line))
    script = read_cmd_script(percent_expanded(_without_outer_quotes(invocation["script"]), variables or {}))
    return ParsedLine(Shell.CMD, ScriptText(script or (), not_readable=_BEYOND_CMD if script is None else None))


@lru_cache(maxsize=4096)
def _parse_linux(command_line: str) -> ParsedLine:
    argv = _split(command_line)
    invocation = _SH_INVOCATION.match(command_line)
    if invocation is None:
        return _without_shell(argv)
    options: set[str] = set()
    runs_script = False
    index = 1
    while index < len(argv) and len(argv[index]) > 1 and argv[index][0] in "-+":
        argument = argv[index]
        index += 1
        if argument.startswith("--"):
            continue
        runs_script |= "c" in argument
        options |= {SHELL_OPTIONS[letter] for letter in argument[1:] if letter in SHELL_OPTIONS and argument[0] == "-"}
        if argument.endswith("o") and index < len(argv):
            options.add(argv[index])
            index += 1
    if not runs_script or index >= len(argv):
        return _without_shell(argv)
    bash = invocation["bash"] == "ba"
    arguments = tuple(argv[index + 1 :]) or (argv[0],)
    return ParsedLine(Shell.SH, read_script(argv[index], bash=bash), bash, arguments, frozenset(options))


def _without_shell(argv: list[str]) -> ParsedLine:
    command = ShellCommand(tuple(map(literal, argv)))
    return ParsedLine(Shell.NONE, ScriptText(only(command) if argv else ()))


_QUOTES = lazy_regex(r"""['"\\]""")
# Repetitions are possessive (`++`): a line with an open quote would be tried in every way of dividing it.
_ARGUMENT = lazy_regex(
    r"""[ \t\r\n]*+((?:[^ \t\r\n'"\\]++|'[^']*+'|"(?:[^"\\]|\\.)*+"|\\.)++)(?=[ \t\r\n]|\Z)|[ \t\r\n]+\Z""", re.DOTALL
)
_ARGUMENT_PIECE = lazy_regex(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)


def _split(command_line: str) -> list[str]:
    """Return the arguments as on Linux, with quotes as ``shlex.split`` reads them, but faster.

    A line with an open quote is split at blanks only.
    """
    if not _QUOTES.search(command_line):
        return command_line.split()
    argv: list[str] = []
    at = 0
    while at < len(command_line):
        found = _ARGUMENT.match(command_line, at)
        if found is None:
            return command_line.split()
        at = found.end()
        if found[1] is not None:
            argv.append(_ARGUMENT_PIECE.sub(_without_quotes, found[1]) if _QUOTES.search(found[1]) else found[1])
    return argv


def _without_quotes(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    if double is not None:
        return re.sub(r'\\(["\\])', r"\1", double) if "\\" in double else double
    return single if single is not None else escaped


def _without_outer_quotes(script: str) -> str:
    """Return the script without a leading quote and the last one, as cmd does."""
    stripped = script.strip()
    if not stripped.startswith('"'):
        return stripped
    head, quote, tail = stripped[1:].rpartition('"')
    return head + tail if quote else stripped[1:]


UNDERSTOOD_MS = 1 * SECOND_MS

NO_OUTPUT = SimulatedOutput()

_SHELLS = frozenset({"sh", "bash", "dash"})
_SCRIPTS = (".sh", ".bat", ".cmd")
_LEAVES_EARLY = frozenset({"exit", "set", "exec", "return", "eval", ".", "trap", *_SHELLS})


@lru_cache(maxsize=8192)
def facts_of(command_line: str, os: OsFamily) -> LineFacts:
    """Return what is known of a command line without running it."""
    program = parse(command_line, os)
    text = program.text
    is_known = text.not_readable is None and (program.shell is not Shell.NONE or bool(text.script))
    is_known = is_known and _knows_all(text.script, program.shell, os)
    is_found = _is_found(program, os)
    on_linux = is_known and os is OsFamily.LINUX
    has_sleep = on_linux and "sleep" in command_line and not _is_straight(program)
    reads_outside = on_linux and (_FROM_OUTSIDE.search(command_line) is not None or any(outside_files(text.script)))
    commands = all_commands(text.script)
    return LineFacts(
        is_found,
        (sum(_sleep_ms(command, os) for command in simple_commands(text.script)) or UNDERSTOOD_MS)
        if is_known
        else None,
        leaves_nothing=not is_known and _leaves_nothing(program),
        needs_rehearsal=has_sleep or reads_outside,
        unreadable=text.not_readable if is_found else None,
        syntax_error=None if text.error is None else f"line {text.error}",
        most_ms=_limit_ms(commands[0]) if os is OsFamily.LINUX and len(commands) == 1 else None,
    )


_FROM_OUTSIDE = lazy_regex(r"AZ_BATCH_(?:APP_PACKAGE|NODE_MOUNTS_DIR)")


def _limit_ms(command: Command) -> int | None:
    """Return the time after which a command ends because ``timeout`` runs it; None if nothing ends it."""
    if not isinstance(command, ShellCommand) or base_name(command.name or "") != "timeout":
        return None
    with suppress(WrongUsage, NotSimulated):
        operands = ProgramOptions(_words(command)[1:], RUNNERS["timeout"]).operands
        return slept_ms(operands[:1]) or None
    return None


def _knows_all(script: Script, shell: Shell, os: OsFamily) -> bool:
    functions = {command.name for command in all_commands(script) if isinstance(command, Function)}
    return all(command.name in functions or _knows(shell, os, command) for command in simple_commands(script))


def _knows(shell: Shell, os: OsFamily, command: ShellCommand) -> bool:
    name = command.name
    if name == "" and not command.words:
        return True
    if not name or builtin_of(shell, os, name) is None:
        return False
    words = words_within(_words(command)) if os is OsFamily.LINUX else [name]
    base = base_name(words[0])
    if base not in _SHELLS:
        return words[0] == name or base in PROGRAMS
    if len(words) < 3 or not words[1].startswith("-") or _UNKNOWN in words[1:3]:
        return False
    inner = read_script(words[2], bash=base == "bash")
    return inner.not_readable is None and _knows_all(inner.script, Shell.SH, os)


def words_within(words: list[str]) -> list[str]:
    """Return the words of the command that these words run in the end: ``sudo nice ls`` runs ``ls``."""
    while (runner := RUNNERS.get(words[0].rpartition("/")[2])) is not None:
        try:
            given = ProgramOptions(words[1:], runner).operands
        except (WrongUsage, NotSimulated):
            return words
        inner = given[runner.runs :]
        while inner and ASSIGNMENT.match(inner[0]):
            inner = inner[1:]
        if not inner:
            return words
        words = inner
    return words


_UNKNOWN = "\0"  # a word that is known only when it is expanded


def _words(command: ShellCommand) -> list[str]:
    return [_UNKNOWN if word.constant is None else word.constant for word in command.words]


_NO_FILES = frozenset({"echo", "printf", "expr", "basename", "dirname", "export", "cd", "exit", "set", "date", "which"})


def outside_files(script: Script) -> Iterator[tuple[str, str]]:
    """Yield the files outside Batch's directories that a script may read and does not make, each with the command."""
    made: list[str] = []
    for command in simple_commands(script):
        words = words_within(_words(command)) if command.words else [""]
        base, *paths = base_name(words[0]), *words[1:]
        reads = [redirect.target.constant or "" for redirect in command.redirects if redirect.reads]
        made += [redirect.target.constant or "" for redirect in command.redirects if not redirect.reads]
        made += paths if base in ("mkdir", "touch", "tee") else paths[-1:] if base in ("cp", "mv") else []
        if base in PROGRAMS or base in SHELL_BUILTINS:
            reads += paths if base not in _NO_FILES else []
        for path in reads:
            if _OUTSIDE.match(path) and not any(each and path.startswith(each) for each in made):
                yield base, path


_OUTSIDE = lazy_regex(
    r"/(?!mnt/batch/tasks(?:/|$)|opt/batch/data/tasks(?:/|$)|tmp(?:/|$)|var/tmp(?:/|$)"
    r"|dev/(?:null|zero|u?random|tty|full|stdin|stdout|stderr|shm)(?:/|$))[^\s*?\[]"
)


def _is_found(program: ParsedLine, os: OsFamily) -> bool:
    """Return whether the program exists; shell built-ins are no programs (TASK-4)."""
    if program.shell is not Shell.NONE:
        return True
    name = next((command.name for command in simple_commands(program.text.script)), "") or ""
    return bool(name) and not is_missing(name, os, outside_shell=True)


def _leaves_nothing(program: ParsedLine) -> bool:
    """Return whether a line is a single program that writes no file and starts in any case, unless it is known.

    A shell may run a script, and so may a program whose name ends as those of scripts do.
    """
    commands = all_commands(program.text.script)
    if program.text.error is not None or len(commands) > 1 or "nounset" in program.options:
        return False
    return all(
        isinstance(command, ShellCommand)
        and not command.redirects
        and not _is_script(command)
        and all(_is_plain(word) for word in (*command.words, *(value for _, value in command.assignments)))
        for command in commands
    )


def _is_script(command: ShellCommand) -> bool:
    """Return whether the command may run a script that is a file on the node, or a command that may."""
    if command.name and base_name(command.name) in RUNNERS:
        return True
    last = command.words[0].parts[-1] if command.words and command.words[0].parts else None
    return isinstance(last, Piece) and (last.text.lower().endswith(_SCRIPTS) or base_name(last.text) in _SHELLS)


def _is_plain(word: Word) -> bool:
    """Return whether the expansion of a word can neither fail nor write."""
    for part in word.parts:
        if isinstance(part, Arithmetic | Substitution):
            return False
        if isinstance(part, Parameter) and (part.operator[-1:] in ("?", "=") or not _is_plain(part.word or Word(()))):
            return False
    return True


def _is_straight(program: ParsedLine) -> bool:
    """Return whether every command runs exactly once, one after the other, and its sleeps are written out."""
    if program.text.error is not None or program.options:
        return False
    for chain in program.text.script:
        command = chain.parts[0][1].commands[0]
        if chain.background or len(all_commands((chain,))) > 1 or not isinstance(command, ShellCommand):
            return False
        if command.name is None or base_name(command.name) in (*_LEAVES_EARLY, *RUNNERS):
            return False
        if base_name(command.name) == "sleep" and any(word.constant is None for word in command.words):
            return False
    return True


_OF_SHELLS = NO_PROGRAM_ON_LINUX | NO_PROGRAM_ON_WINDOWS | KEYWORDS
# A set of characters comes first, since the search passes over others fast; what stands before it is looked at again.
_SIGNS = lazy_regex(r"[$`;|&<>%~=sc:/](?:(?<=[$`;|&<>%~=])|(?<=s)h\b|(?<=c)md|(?<=[a-z]:)[\\/]|(?<=/)bin/)")


def needs_a_look(command_line: str) -> bool:
    """Return whether a command line may have traps or need a shell; others can always be read."""
    line = command_line.lower()
    words = line.split(maxsplit=1)
    return _SIGNS.search(line) is not None or (words != [] and words[0] in _OF_SHELLS)


_STARTS = {OsFamily.LINUX: '/bin/sh -c "..."'}
_OPERATOR = lazy_regex(r"&&|\|\|?|;|&|<|(?:[0-2&]?>>?)(?:&[012]|[^>=\s]*)")
_VARIABLE_ON_LINUX = lazy_regex(
    r"(?:^|[=:/,@])\$(?:\{[A-Za-z_]\w*\}|\(|[A-Z_][A-Z0-9_]*(?!\w)|AZ_BATCH_\w+)|^~/|^`", re.ASCII
)
_VARIABLE_ON_WINDOWS = lazy_regex(r"%[A-Za-z_]\w+%", re.ASCII)
_POWERSHELL = lazy_regex(r"(?:power)?shell|pwsh", re.IGNORECASE)


def system_of(command_line: str) -> OsFamily:
    """Return the system for which a command line is written: Windows if it begins with a program of that one."""
    name = command_line.split(maxsplit=1)[0] if command_line.strip() else ""
    return OsFamily.WINDOWS if is_of_other_system(name, OsFamily.LINUX) else OsFamily.LINUX


@lru_cache(maxsize=8192)
def traps_of(command_line: str, os: OsFamily) -> tuple[tuple[str, str], ...]:
    """Return what in a command line fails on every node, or is not what it seems: codes of warnings, with sentences."""
    program = parse(command_line, os)
    commands = list(simple_commands(program.text.script))
    system = "Linux" if os is OsFamily.LINUX else "Windows"
    if program.shell is not Shell.NONE:
        return tuple(_traps_in_script(program, commands, system, os))
    words = _words(commands[0]) if commands else [""]
    start = _STARTS.get(os, "cmd /c ...")
    if is_of_other_system(words[0], os):
        ends = "its process ends with CommandProgramNotFound"
        return (("wrong-shell", f"a {system} node has no program {shortened(words[0])}: {ends} (NODE-1)"),)
    if is_of_shell(words[0], os):
        text = f"{words[0]} is a command of the shell and no program: begin the line with {start} (TASK-4)"
        return (("builtin-as-program", text),)
    found = _for_a_shell(command_line, words, os)
    if found is None:
        return ()
    return (("no-shell", f"the line runs in no shell, so {shortened(found)} stays as it is: begin it with {start}"),)


def _traps_in_script(
    program: ParsedLine, commands: list[ShellCommand], system: str, os: OsFamily
) -> Iterator[tuple[str, str]]:
    names = [command.name or "" for command in commands]
    if (name := next((name for name in names if is_of_other_system(name, os)), None)) is not None:
        yield "wrong-shell", f"a {system} node has no program {shortened(name)}: the command fails (NODE-1)"
    if os is OsFamily.LINUX and "source" in names and not program.bash:
        yield "wrong-shell", "sh of Ubuntu and Debian has no command source: write '.', or begin the line with bash"
    outside = outside_files(program.text.script) if os is OsFamily.LINUX else iter(())
    if path := next((path for name, path in outside if not _is_simulated(name, path)), ""):
        yield (
            "system-file",
            f"the simulator does not know {shortened(path)}: where it is read, the command counts as a program that"
            " takes its default time and succeeds (FILE-15); say with 'simulate' what the line does",
        )


def _is_simulated(name: str, path: str) -> bool:
    """Return whether a command finds at a path outside Batch's directories what it finds on a real node (FILE-15)."""
    lists = name in ("ls", "cp", "grep") and path != "/mnt"
    return path in SYSTEM_FILES or (not lists and (path.rstrip("/") or "/") in SYSTEM_DIRECTORIES)


def _for_a_shell(command_line: str, words: list[str], os: OsFamily) -> str | None:
    """Return the word of a line without a shell that only a shell would understand; None if there is none."""
    signs = _VARIABLE_ON_LINUX if os is OsFamily.LINUX else _VARIABLE_ON_WINDOWS
    if is_missing(words[0], os, outside_shell=True):
        return words[0] or None
    joins = not _POWERSHELL.search(words[0]) and "';'" not in command_line and "\\;" not in command_line
    for word in words[1:]:
        if not any(map(str.isspace, word)) and (signs.search(word) or (joins and _OPERATOR.fullmatch(word))):
            return word
    return None


def run(
    command_line: str,
    root: NodeRoot,
    env: Mapping[str, str],
    files: NodeFiles,
    cwd: str,
    simulated: SimulatedOutput = NO_OUTPUT,
    start_ms: int = 0,
    most_steps: int = STEP_LIMIT,
) -> Output:
    """Run the line in directory ``cwd`` (a key, created if necessary) and change the files; never raise.

    Args:
        command_line: The line.
        root: The node's root directory, which determines the operating system and the native paths.
        env: The environment.
        files: The node's files.
        cwd: The key of the working directory.
        simulated: How unknown programs behave.
        start_ms: The start of the process, as Unix time in ms, for ``date``.
        most_steps: The steps after which it stops.
    """
    files.mkdir(cwd)
    here = _of_cmd(root.native(cwd), start_ms) | dict(env) if root.is_windows else {}
    program = parse(command_line, root.os, here)
    if not _is_found(program, root.os):
        return Output(127, "", "", found=False)
    state = Run(start_ms, is_described=simulated != NO_OUTPUT)
    state.steps_left = most_steps
    out, err = Stream(state), Stream(state)
    variables = dict(env)
    if program.shell is Shell.SH:
        variables["PWD"] = root.native(cwd)
    streams: dict[int, Stream | InputStream] = {0: InputStream(), 1: out, 2: err}
    process = ShellProcess(files, root, variables, cwd, state, streams, exported=set(variables), bash=program.bash)
    if program.shell is Shell.SH:
        variables["PPID"] = str(PROCESS_ID - 1)
        process.plain_echo = not program.bash
        process.name, *process.arguments = program.arguments
        process.options = set(program.options)
    try:
        exit_code = Interpreter(process, program.shell, simulated).run_all(program.text)
        message = ""
    except BoundReached as bound:
        exit_code, message = (0, "") if state.vague_texts else (1, f"sh: {bound}\n")  # it waits for unknown programs
    if simulated.exit_code is not None:
        exit_code = simulated.exit_code
    return Output(exit_code, out.text, err.text + message, slept_ms=state.slept_ms, is_known=not state.after_unknown)


def _of_cmd(directory: str, start_ms: int) -> dict[str, str]:
    """Return the variables that cmd makes when a line is read."""
    return {
        "CD": directory,
        "DATE": formatted(start_ms, "%a %m/%d/%Y"),
        "ERRORLEVEL": "0",
        "RANDOM": str(random_number(Run(start_ms), directory)),
        "TIME": formatted(start_ms, "%k:%M:%S.00"),
    }


def _sleep_ms(command: ShellCommand, os: OsFamily) -> int:
    if not command.words:
        return 0
    name, *arguments = words_within(_words(command)) if os is OsFamily.LINUX else _words(command)
    if base_name(name.lower()) != ("sleep" if os is OsFamily.LINUX else "timeout"):
        return 0
    return sum(slept_ms([argument]) or 0 for argument in arguments)
