"""The Linux commands about files and directories."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engine.executors.shell.programs.call import Builtin, Call, NotSimulated, copy_into


def _options(args: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the letters of the options (of a long one the first letter) and the operands."""
    letters: set[str] = set()
    for index, argument in enumerate(args):
        if argument == "--":
            return letters, [*(other for other in args[:index] if not _is_option(other)), *args[index + 1 :]]
        if _is_option(argument):
            letters.update(argument[2:3] if argument.startswith("--") else argument[1:])
    return letters, [argument for argument in args if not _is_option(argument)]


def _is_option(argument: str) -> bool:
    return len(argument) > 1 and argument.startswith("-")


def _for_each(one: Callable[[Call, set[str], str], int], default: Sequence[str] = ()) -> Builtin:
    """Return a command that runs ``one`` for each operand; the exit code is that of the last operand that failed."""

    def run(call: Call) -> int:
        letters, paths = _options(call.args)
        code = 0
        for path in paths or default:
            code = one(call, letters, path) or code
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


def _cp(call: Call) -> int:
    letters, paths = _options(call.args)
    files = call.process.files
    if len(paths) < 2:
        return call.fail(f"{call.name}: missing file operand")
    *sources, target = paths
    key, code = call.process.key(target), 0
    if len(sources) > 1 and not files.is_dir(key):
        return call.fail(f"{call.name}: target '{target}' is not a directory")
    if not call.process.holds(key):
        return call.fail(f"{call.name}: cannot create '{target}': No such file or directory")
    for source in sources:
        if call.name == "cp" and not letters & {"r", "R", "a"} and files.is_dir(call.process.key(source)):
            code = call.fail(f"cp: -r not specified; omitting directory '{source}'")
        elif not copy_into(call, source, key, move=call.name == "mv"):
            code = call.fail(f"{call.name}: cannot stat '{source}': No such file or directory")
    return code


def _rm(call: Call, letters: set[str], path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if files.is_dir(key) and not letters & {"r", "R"}:
        return call.fail(f"rm: cannot remove '{path}': Is a directory")
    if not files.delete(key) and "f" not in letters and not call.process.after_unknown:
        return call.fail(f"rm: cannot remove '{path}': No such file or directory")
    return 0


def _mkdir(call: Call) -> int:
    letters, paths = _options(call.args)
    files, code = call.process.files, 0
    for path in paths[1:] if "m" in letters else paths:
        key = call.process.key(path)
        if "p" not in letters and files.exists(key):
            code = call.fail(f"mkdir: cannot create directory '{path}': File exists")
        elif "p" not in letters and not call.process.holds(key):
            code = call.fail(f"mkdir: cannot create directory '{path}': No such file or directory")
        elif not call.process.make_directory(key):
            code = call.fail(f"mkdir: cannot create directory '{path}': Not a directory")
    return code


def _rmdir(call: Call, _: set[str], path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if not files.is_dir(key):
        return call.fail(f"rmdir: failed to remove '{path}': No such file or directory")
    if files.listdir(key):
        return call.fail(f"rmdir: failed to remove '{path}': Directory not empty")
    files.delete(key)
    return 0


def _touch(call: Call, _: set[str], path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if not call.process.holds(key):
        return call.fail(f"touch: cannot touch '{path}': No such file or directory")
    if not files.is_dir(key):
        files.append(key, "")
    return 0


_MODE = re.compile(r"[0-7]{1,5}|[ugoa]*(?:[-+=][rwxXstugo]*)+(?:,[ugoa]*(?:[-+=][rwxXstugo]*)+)*")


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


def _ls(call: Call) -> int:
    """List names, one in a line, files before directories."""
    letters, paths = _options(call.args)
    if letters - set("1aAdpFr"):
        raise NotSimulated
    files, code = call.process.files, 0
    plain: list[str] = []
    directories: list[str] = []
    for path in paths or ["."]:
        key = call.process.key(path)
        if not files.exists(key):
            code = call.fail(f"ls: cannot access '{path}': No such file or directory", 2)
        elif files.is_dir(key) and "d" not in letters:
            directories.append(path)
        else:
            plain.append(path)
    _show(call, letters, "", sorted(plain))
    for index, path in enumerate(sorted(directories)):
        if len(plain) + len(directories) > 1 or code:
            call.say(f"{chr(10) if index or plain else ''}{path}:")
        names = files.listdir(call.process.key(path))
        call.process.run.step(4 + (len(names) >> 2))
        hidden = [".", ".."] if "a" in letters else []
        shown = [name for name in names if not name.startswith(".") or letters & {"a", "A"}]
        _show(call, letters, f"{path}/", [*hidden, *shown])
    return code


def _show(call: Call, letters: set[str], directory: str, names: list[str]) -> None:
    for name in reversed(names) if "r" in letters else names:
        is_directory = letters & {"p", "F"} and call.process.files.is_dir(call.process.key(directory + name))
        call.say(name + "/" if is_directory else name)


def _pwd(call: Call) -> int:
    call.say(call.process.root.native(call.process.cwd))
    return 0


FILE_COMMANDS: dict[str, Builtin] = {
    "cd": _cd,
    "chmod": _chmod,
    "cp": _cp,
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _cp,
    "pwd": _pwd,
    "rm": _for_each(_rm),
    "rmdir": _for_each(_rmdir),
    "touch": _for_each(_touch),
}
