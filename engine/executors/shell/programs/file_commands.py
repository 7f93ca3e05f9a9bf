"""The Linux commands about files and directories."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Builtin, Call, copy_into
from engine.executors.shell.programs.options import OptionTable, ProgramOptions


def _for_each(
    table: OptionTable, one: Callable[[Call, ProgramOptions, str], int], lacks: str = "missing operand"
) -> Builtin:
    """Return a command that runs ``one`` for each operand; the exit code is that of the last operand that failed."""

    def run(call: Call) -> int:
        options = ProgramOptions(call, table)
        if not options.operands and "f" not in options:
            return call.misuse(lacks)
        code = 0
        for path in options.operands:
            code = one(call, options, path) or code
        return code

    return run


def _cd(call: Call) -> int:
    process = call.process
    args = [argument for argument in call.args if argument not in ("-L", "-P", "--")]
    path = args[0] if args else process.env.get("HOME", ".")
    if path == "-":
        path = process.env.get("OLDPWD", ".")
        call.say(path)
    if process.enter(path or "."):
        return 0
    if process.bash:
        return call.complain(f"{path}: No such file or directory")
    return call.complain(f"can't cd to {path}", 2)


_CP = OptionTable(
    "rRapfvLHPdnTxu",
    "t",
    {
        "recursive": "r", "archive": "a", "force": "f", "verbose": "v", "dereference": "L", "no-dereference": "P",
        "no-clobber": "n", "target-directory": "t", "preserve": "6", "update": "6", "no-target-directory": "T",
        "one-file-system": "x", "interactive": "i", "backup": "b", "link": "l", "symbolic-link": "s",
    },
    optional="6",
    others="bilsSZ",
)  # fmt: skip


def _cp(call: Call) -> int:
    options = ProgramOptions(call, _CP)
    files, paths = call.process.files, options.operands
    if "t" in options:
        paths = [*paths, options.values["t"]]
    if len(paths) < 2:
        return call.misuse(f"missing destination file operand after '{paths[0]}'" if paths else "missing file operand")
    *sources, target = paths
    key, code = call.process.key(target), 0
    if len(sources) > 1 and not files.is_dir(key):
        return call.fail(f"{call.name}: target '{target}' is not a directory")
    if not call.process.holds(key):
        return call.fail(f"{call.name}: cannot create '{target}': No such file or directory")
    for source in sources:
        if call.name == "cp" and not {"r", "R", "a"} & options.values.keys() and files.is_dir(call.process.key(source)):
            code = call.fail(f"cp: -r not specified; omitting directory '{source}'")
        elif not copy_into(call, source, key, move=call.name == "mv"):
            code = call.fail(f"{call.name}: cannot stat '{source}': No such file or directory")
    return code


_RM = OptionTable(
    "rRfvd",
    words={"recursive": "r", "force": "f", "verbose": "v", "dir": "d", "interactive": "i", "one-file-system": "v"},
    others="iI",
)


def _rm(call: Call, options: ProgramOptions, path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if files.is_dir(key) and "d" in options and not files.listdir(key):
        files.delete(key)
        return 0
    if files.is_dir(key) and not {"r", "R"} & options.values.keys():
        return call.fail(f"rm: cannot remove '{path}': Is a directory")
    if not files.delete(key) and "f" not in options and not call.process.after_unknown:
        return call.fail(f"rm: cannot remove '{path}': No such file or directory")
    return 0


_MKDIR = OptionTable("pv", "m", {"parents": "p", "verbose": "v", "mode": "m"}, others="Z")


def _mkdir(call: Call, options: ProgramOptions, path: str) -> int:
    process, key = call.process, call.process.key(path)
    if "p" not in options and process.files.exists(key):
        return call.fail(f"mkdir: cannot create directory '{path}': File exists")
    if "p" not in options and not process.holds(key):
        return call.fail(f"mkdir: cannot create directory '{path}': No such file or directory")
    if not process.make_directory(key):
        return call.fail(f"mkdir: cannot create directory '{path}': Not a directory")
    return 0


_RMDIR = OptionTable("v", words={"parents": "p", "verbose": "v"}, others="p")


def _rmdir(call: Call, _: ProgramOptions, path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if not files.is_dir(key):
        return call.fail(f"rmdir: failed to remove '{path}': No such file or directory")
    if files.listdir(key):
        return call.fail(f"rmdir: failed to remove '{path}': Directory not empty")
    files.delete(key)
    return 0


_TOUCH = OptionTable("acmf", "drt", {"no-create": "c", "date": "d", "reference": "r"}, others="h")


def _touch(call: Call, options: ProgramOptions, path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if "c" in options:
        return 0
    if not call.process.holds(key):
        return call.fail(f"touch: cannot touch '{path}': No such file or directory")
    if not files.is_dir(key):
        files.append(key, "")
    return 0


_MODE = lazy_regex(r"[0-7]{1,5}|[ugoa]*(?:[-+=][rwxXstugo]*)+(?:,[ugoa]*(?:[-+=][rwxXstugo]*)+)*")


def _chmod(call: Call) -> int:
    """Check that the files exist: modes are not simulated (decided here), so all files can be executed."""
    given = [argument for argument in call.args if not re.fullmatch(r"-[Rcfv]+|--[a-z]+", argument)]
    if not given:
        return call.misuse("missing operand")
    if not _MODE.fullmatch(given[0]):
        return call.misuse(f"invalid mode: '{given[0][:80]}'")
    if len(given) < 2:
        return call.misuse(f"missing operand after '{given[0]}'")
    process, code = call.process, 0
    for path in given[1:]:
        key = process.key(path)
        if not process.files.exists(key) and process.must_know(key):
            code = call.fail(f"chmod: cannot access '{path}': No such file or directory")
    return code


_LS = OptionTable(
    "1aAdpFrR",
    words={"all": "a", "almost-all": "A", "directory": "d", "classify": "F", "reverse": "r", "recursive": "R"},
    others="bBcCDfgGhHikIlLmnNoqQsStTuUvwxXZ",
    usage=2,
)


def _ls(call: Call) -> int:
    """List names, one in a line, files before directories; with ``-R`` those in directories too."""
    options = ProgramOptions(call, _LS)
    files, code = call.process.files, 0
    plain: list[str] = []
    directories: list[str] = []
    for path in options.operands or ["."]:
        key = call.process.key(path)
        if not files.exists(key):
            code = call.fail(f"ls: cannot access '{path}': No such file or directory", 2)
        elif files.is_dir(key) and "d" not in options:
            directories.append(path)
        else:
            plain.append(path)
    _show(call, options, "", sorted(plain))
    headed = "R" in options or len(plain) + len(directories) > 1 or code
    pending = sorted(directories, reverse="r" not in options)  # the next one stands at the end
    first = not plain
    while pending:
        path = pending.pop()
        if headed:
            call.say(f"{'' if first else chr(10)}{path}:")
        first = False
        names = files.listdir(call.process.key(path))
        call.process.run.step(4 + (len(names) >> 2))
        shown = [name for name in names if not name.startswith(".") or {"a", "A"} & options.values.keys()]
        _show(call, options, f"{path}/", [".", "..", *shown] if options.last_of("aA") == "a" else shown)
        if "R" in options:
            inner = [f"{path.rstrip('/')}/{name}" for name in shown]
            inner = [each for each in inner if files.is_dir(call.process.key(each))]
            pending += inner if "r" in options else reversed(inner)
    return code


def _show(call: Call, options: ProgramOptions, directory: str, names: list[str]) -> None:
    for name in reversed(names) if "r" in options else names:
        marked = {"p", "F"} & options.values.keys() and call.process.files.is_dir(call.process.key(directory + name))
        call.say(name + "/" if marked else name)


def _pwd(call: Call) -> int:
    call.say(call.process.root.native(call.process.cwd))
    return 0


FILE_COMMANDS: dict[str, Builtin] = {
    "cd": _cd,
    "chmod": _chmod,
    "cp": _cp,
    "ls": _ls,
    "mkdir": _for_each(_MKDIR, _mkdir),
    "mv": _cp,
    "pwd": _pwd,
    "rm": _for_each(_RM, _rm),
    "rmdir": _for_each(_RMDIR, _rmdir),
    "touch": _for_each(_TOUCH, _touch, "missing file operand"),
}
