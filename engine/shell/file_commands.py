"""The Linux programs about files, directories, names, time and the environment."""

from __future__ import annotations

import re
from functools import partial

from engine.base.values import lazy_regex
from engine.shell.call import (
    PROGRAMS,
    SHELL_BUILTINS,
    Call,
    NotSimulated,
    Program,
    ProgramOptions,
    command,
    copy_into,
    succeed,
)
from engine.shell.syntax import SHELL_OPTIONS

_program = partial(command, PROGRAMS)

PROGRAMS |= {"true": succeed, "false": lambda _: 1}


@command(SHELL_BUILTINS, "cd")
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


@Program(
    "cp mv",
    "r/recursive R a/archive p f/force v/verbose L/dereference H P/no-dereference d n/no-clobber "
    "T/no-target-directory x/one-file-system u t=/target-directory 6?/preserve/update b!/backup i!/interactive l!/link "
    "s!/symbolic-link S! Z!",
)
def _cp(call: Call, options: ProgramOptions) -> int:
    files, paths = call.process.files, options.operands
    if "t" in options:
        paths = [*paths, options.values["t"]]
    if len(paths) < 2:
        return call.misuse(f"missing destination file operand after '{paths[0]}'" if paths else "missing file operand")
    *sources, target = paths
    key = call.process.key(target)
    if len(sources) > 1 and not files.is_dir(key):
        return call.fail(f"{call.name}: target '{target}' is not a directory")
    if not call.process.holds(key):
        return call.fail(f"{call.name}: cannot create '{target}': No such file or directory")
    for source in sources:
        if call.name == "cp" and not {"r", "R", "a"} & options.values.keys() and files.is_dir(call.process.key(source)):
            call.fail(f"cp: -r not specified; omitting directory '{source}'")
        elif not copy_into(call, source, key, move=call.name == "mv"):
            call.fail(f"{call.name}: cannot stat '{source}': No such file or directory")
    return call.status


@Program("rm", "r/recursive R f/force v/verbose/one-file-system d/dir i!/interactive I!")
def _rm(call: Call, options: ProgramOptions) -> int:
    if not options.operands and "f" not in options:
        return call.misuse("missing operand")
    for path, key in call.keys(options.operands):
        files = call.process.files
        if files.is_dir(key) and "d" in options and not files.listdir(key):
            files.delete(key)
        elif files.is_dir(key) and not {"r", "R"} & options.values.keys():
            call.fail(f"rm: cannot remove '{path}': Is a directory")
        elif not files.delete(key) and "f" not in options and not call.process.run.after_unknown:
            call.fail(f"rm: cannot remove '{path}': No such file or directory")
    return call.status


@Program("mkdir", "p/parents v/verbose m=/mode Z!", least=1)
def _mkdir(call: Call, options: ProgramOptions) -> int:
    for path, key in call.keys(options.operands):
        if "p" not in options and call.process.files.exists(key):
            call.fail(f"mkdir: cannot create directory '{path}': File exists")
        elif "p" not in options and not call.process.holds(key):
            call.fail(f"mkdir: cannot create directory '{path}': No such file or directory")
        elif not call.process.make_directory(key):
            call.fail(f"mkdir: cannot create directory '{path}': Not a directory")
    return call.status


@Program("rmdir", "v/verbose p!/parents", least=1)
def _rmdir(call: Call, options: ProgramOptions) -> int:
    for path, key in call.keys(options.operands):
        if not call.process.files.is_dir(key):
            call.fail(f"rmdir: failed to remove '{path}': No such file or directory")
        elif call.process.files.listdir(key):
            call.fail(f"rmdir: failed to remove '{path}': Directory not empty")
        else:
            call.process.files.delete(key)
    return call.status


@Program("touch", "a c/no-create m f d=/date r=/reference t= h!")
def _touch(call: Call, options: ProgramOptions) -> int:
    if not options.operands and "f" not in options:
        return call.misuse("missing file operand")
    for path, key in call.keys(options.operands if "c" not in options else []):
        if not call.process.holds(key):
            call.fail(f"touch: cannot touch '{path}': No such file or directory")
        elif not call.process.files.is_dir(key):
            call.process.files.append(key, "")
    return call.status


_MODE = lazy_regex(r"[0-7]{1,5}|[ugoa]*(?:[-+=][rwxXstugo]*)+(?:,[ugoa]*(?:[-+=][rwxXstugo]*)+)*")


@_program("chmod")
def _chmod(call: Call) -> int:
    """Check that the files exist: modes are not simulated (decided here), so all files can be executed."""
    given = [argument for argument in call.args if not re.fullmatch(r"-[Rcfv]+|--[a-z]+", argument)]
    if not given:
        return call.misuse("missing operand")
    if not _MODE.fullmatch(given[0]):
        return call.misuse(f"invalid mode: '{given[0][:80]}'")
    if len(given) < 2:
        return call.misuse(f"missing operand after '{given[0]}'")
    for path, key in call.keys(given[1:]):
        if not call.process.files.exists(key) and call.process.must_know(key):
            call.fail(f"chmod: cannot access '{path}': No such file or directory")
    return call.status


@Program(
    "ls",
    "1 a/all A/almost-all d/directory p F/classify r/reverse R/recursive b! B! c! C! D! f! g! G! h! H! i! k! I! "
    "l! L! m! n! N! o! q! Q! s! S! t! T! u! U! v! w! x! X! Z!",
    usage=2,
)
def _ls(call: Call, options: ProgramOptions) -> int:
    """List names, one in a line, files before directories; with ``-R`` those in directories too."""
    files = call.process.files
    plain: list[str] = []
    directories: list[str] = []
    for path, key in call.keys(options.operands or ["."]):
        if not files.exists(key):
            call.fail(f"ls: cannot access '{path}': No such file or directory", 2)
        elif files.is_dir(key) and "d" not in options:
            directories.append(path)
        else:
            plain.append(path)
    _show(call, options, "", sorted(plain))
    headed = "R" in options or len(plain) + len(directories) > 1 or call.status
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
    return call.status


def _show(call: Call, options: ProgramOptions, directory: str, names: list[str]) -> None:
    for name in reversed(names) if "r" in options else names:
        marked = {"p", "F"} & options.values.keys() and call.process.files.is_dir(call.process.key(directory + name))
        call.say(name + "/" if marked else name)


@_program("pwd")
def _pwd(call: Call) -> int:
    call.say(call.process.root.native(call.process.cwd))
    return 0


@Program("basename", "a/multiple z/zero s=/suffix", stops=True, least=1)
def _basename(call: Call, options: ProgramOptions) -> int:
    """Print the last part of paths, without a suffix."""
    names, suffix = options.operands, options.values.get("s", "")
    if "a" not in options and "s" not in options:
        if len(names) > 2:
            return call.misuse(f"extra operand '{names[2][:80]}'")
        names, suffix = names[:1], names[1] if len(names) > 1 else ""
    for path in names:
        name = path.rstrip("/").rpartition("/")[2] or ("/" if path else "")
        call.out.append((name if name == suffix else name.removesuffix(suffix)) + options.end())
    return 0


@Program("dirname", "z/zero", least=1)
def _dirname(call: Call, options: ProgramOptions) -> int:
    """Print paths without their last part."""
    for path in options.operands:
        head = path.rstrip("/").rpartition("/")[0].rstrip("/")
        call.out.append((head or ("/" if path.startswith("/") else ".")) + options.end())
    return 0


_ASSIGNMENT = lazy_regex(r"([^=]+)=(.*)", re.DOTALL)


@Program("env", "i/ignore-environment 0/null v u=/unset C=/chdir S! /debug /split-string", usage=125, stops=True)
def _env(call: Call, options: ProgramOptions) -> int:
    """Print the exported variables, or run a command with some more of them."""
    process = call.process
    args = options.operands
    empties = "i" in options
    if args[:1] == ["-"]:
        args, empties = args[1:], True
    shown = {} if empties else process.exported_variables()
    for letter, name in options.all:
        if letter == "u":
            shown.pop(name, None)
    while args and (found := _ASSIGNMENT.fullmatch(args[0])):
        shown[found[1]] = found[2]
        args = args[1:]
    if not args:
        _show_variables(call, shown, options)
        return 0
    if "0" in options:
        return call.misuse("cannot specify --null (-0) with command", 125)
    before = process.env, process.exported, process.cwd
    process.env, process.exported = shown, set(shown)
    try:
        if "C" in options and not process.enter(options.values["C"]):
            return call.fail(f"env: cannot change directory to '{options.values['C']}': No such file or directory", 125)
        return process.runner.run_words(args, functions=False)
    finally:
        process.env, process.exported, process.cwd = before


@Program("printenv", "0/null", usage=2, stops=True)
def _printenv(call: Call, options: ProgramOptions) -> int:
    """Print the values of exported variables: 1 if one is not set."""
    exported = call.process.exported_variables()
    if not options.operands:
        _show_variables(call, exported, options)
        return 0
    for name in options.operands:
        if name in exported:
            call.out.append(exported[name] + options.end("0"))
    return int(any(name not in exported for name in options.operands))


def _show_variables(call: Call, variables: dict[str, str], options: ProgramOptions) -> None:
    for name, text in variables.items():
        call.out.append(f"{name}={text}{options.end('0')}")


_SLEEP = lazy_regex(r"(?P<number>\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?P<unit>[smhd]?)", re.ASCII)
_UNIT_MS = {"": 1_000, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_MS = 3_650 * 86_400_000


def slept_ms(arguments: list[str]) -> int | None:
    """Return the time that ``sleep`` takes with these arguments, or None if one of them is no time."""
    total = 0
    for argument in arguments:
        if argument == "infinity":
            return _LONGEST_MS
        found = _SLEEP.fullmatch(argument)
        if found is None:
            return None
        total += round(float(found["number"]) * _UNIT_MS[found["unit"]])
    return min(total, _LONGEST_MS)


@Program("sleep", least=1)
def _sleep(call: Call, options: ProgramOptions) -> int:
    """Let the simulated time of the process pass."""
    total = slept_ms(options.operands)
    if total is None:
        wrong = next(argument for argument in options.operands if slept_ms([argument]) is None)
        return call.misuse(f"invalid time interval '{wrong[:80]}'")
    run = call.process.run
    run.clock_ms = min(run.clock_ms + total, run.start_ms + _LONGEST_MS)
    return 0


@_program("hostname")
def _hostname(call: Call) -> int:
    """Print the id of the node, which stands for the name of its machine (decided here)."""
    if call.args:
        raise NotSimulated
    call.say(call.process.env.get("AZ_BATCH_NODE_ID", "localhost"))
    return 0


@_program("which")
def _which(call: Call) -> int:
    """Print the path of programs: every program exists."""
    for name in call.args:
        call.say(name if "/" in name else f"/usr/bin/{name}")
    return int(not call.args)


@_program("bash", "dash", "sh")
def _shell(call: Call) -> int:
    """Run a script in a new shell: from ``-c``, from a file whose text is known, or from standard input."""
    process, args = call.process, list(call.args)
    bash, options, script, reads = call.name == "bash", set[str](), False, False
    while args and len(args[0]) > 1 and args[0][0] == "-":
        letters = args.pop(0)[1:]
        if not set(letters) <= set("ceuxfls"):
            raise NotSimulated
        reads |= "s" in letters
        options |= {SHELL_OPTIONS[letter] for letter in letters if letter in SHELL_OPTIONS}
        script |= "c" in letters
    if script:
        if not args:
            return call.fail(f"{call.name}: 0: -c requires an argument", 2)
        name, arguments = (args[1], args[2:]) if len(args) > 1 else (call.name, [])
        return process.runner.run_child(args[0], name, arguments, bash=bash, options=options)
    if args and not reads:
        key = process.key(args[0])
        text = process.files.read(key)
        if text is None and process.in_script and process.must_know(key):
            if bash:
                return call.fail(f"bash: {args[0]}: No such file or directory", 127)
            return call.fail(f"{call.name}: 0: cannot open {args[0]}: No such file", 2)
        if not text:
            raise NotSimulated
        return process.runner.run_child(text, args[0], args[1:], bash=bash, options=options)
    if not call.stdin.text:
        raise NotSimulated
    return process.runner.run_child(call.stdin.read(), call.name, args, bash=bash, options=options)


@Program("uname", "s n m o a! r! v! p! i!")
def _uname(call: Call, options: ProgramOptions) -> int:
    known = {"s": "Linux", "n": call.process.env.get("AZ_BATCH_NODE_ID", "localhost"), "m": "x86_64", "o": "GNU/Linux"}
    call.say(" ".join(known[letter] for letter in "snmo" if letter in options) or "Linux")
    return 0
