"""The Linux programs about files, directories and names, and the shells as programs."""

from __future__ import annotations

import re
from functools import partial
from math import ceil

from engine.shell.call import PROGRAMS, SHELL_BUILTINS, Call, NotSimulated, Program, ProgramOptions, command, succeed
from engine.shell.date import formatted
from engine.shell.expansion import copy_into
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
    "T/no-target-directory x/one-file-system u t=/target-directory 6?/preserve/update",
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


@Program("rm", "r/recursive R f/force v/verbose/one-file-system d/dir")
def _rm(call: Call, options: ProgramOptions) -> int:
    if not options.operands and "f" not in options:
        return call.misuse("missing operand")
    for path, key in call.keys(options.operands):
        files = call.process.files
        if files.is_dir(key) and "d" in options and not files.listdir(key):
            files.delete(key)
        elif files.is_dir(key) and not {"r", "R"} & options.values.keys():
            call.fail(f"rm: cannot remove '{path}': Is a directory")
        elif not files.delete(key) and "f" not in options and call.process.must_know(key):
            call.fail(f"rm: cannot remove '{path}': No such file or directory")
    return call.status


@Program("mkdir", "p/parents v/verbose m=/mode", least=1)
def _mkdir(call: Call, options: ProgramOptions) -> int:
    for path, key in call.keys(options.operands):
        if "p" not in options and call.process.files.exists(key):
            call.fail(f"mkdir: cannot create directory '{path}': File exists")
        elif "p" not in options and not call.process.holds(key):
            call.fail(f"mkdir: cannot create directory '{path}': No such file or directory")
        elif not call.process.make_directory(key):
            call.fail(f"mkdir: cannot create directory '{path}': Not a directory")
    return call.status


@Program("rmdir", "v/verbose", least=1)
def _rmdir(call: Call, options: ProgramOptions) -> int:
    for path, key in call.keys(options.operands):
        if not call.process.exists(key) or not call.process.files.is_dir(key):
            call.fail(f"rmdir: failed to remove '{path}': No such file or directory")
        elif call.process.listdir(key):
            call.fail(f"rmdir: failed to remove '{path}': Directory not empty")
        else:
            call.process.files.delete(key)
    return call.status


@Program("touch", "a c/no-create m f d=/date r=/reference t=")
def _touch(call: Call, options: ProgramOptions) -> int:
    if not options.operands and "f" not in options:
        return call.misuse("missing file operand")
    for path, key in call.keys(options.operands if "c" not in options else []):
        if not call.process.holds(key):
            call.fail(f"touch: cannot touch '{path}': No such file or directory")
        elif not call.process.files.is_dir(key):
            call.process.files.append(key, "")
    return call.status


@Program("mktemp", "d/directory u/dry-run q/quiet p?/tmpdir t", most=1)
def _mktemp(call: Call, options: ProgramOptions) -> int:
    """Make a file or directory with a name that no other one has, and print its path."""
    process = call.process
    template = options.operands[0] if options.operands else "tmp.XXXXXXXXXX"
    if template.count("X") < 3:
        return call.fail(f"mktemp: too few X's in template '{template[:80]}'")
    number = 0
    is_here = options.operands and not {"p", "t"} & options.values.keys()
    above = "" if is_here else options.values.get("p") or process.env.get("TMPDIR", "/tmp")
    stem, _, end = template.rpartition("XXX")
    while process.files.exists(process.key(path := f"{above}{'/' if above else ''}{stem}{number:03}{end}")):
        number += 1
        process.run.step()
    key = process.key(path)
    if not process.holds(key):
        return call.fail(f"mktemp: failed to create file via template '{template}': No such file or directory")
    if "u" not in options:
        (process.make_directory if "d" in options else lambda name: process.files.write(name, ""))(key)
    call.say(path)
    return 0


@_program("chmod")
def _chmod(call: Call) -> int:
    """Check that the files exist: modes are not simulated (decided here), so all files can be executed."""
    given = [argument for argument in call.args if not re.fullmatch(r"-[Rcfv]+|--[a-z]+", argument)]
    if not given:
        return call.misuse("missing operand")
    if len(given) < 2:
        return call.misuse(f"missing operand after '{given[0]}'")
    for path, key in call.keys(given[1:]):
        if not call.process.files.exists(key) and call.process.must_know(key):
            call.fail(f"chmod: cannot access '{path}': No such file or directory")
    return call.status


@Program("ls", "1 a/all A/almost-all d/directory h/human-readable l r/reverse R/recursive t 0?/color")
def _ls(call: Call, options: ProgramOptions) -> int:
    """List names, one in a line, files before directories; with ``-R`` those in directories too."""
    process, listing = call.process, _Listing(call, options)
    plain: list[str] = []
    directories: list[str] = []
    for path, key in call.keys(options.operands or ["."]):
        if not process.exists(key):
            if process.must_know(key):
                call.fail(f"ls: cannot access '{path}': No such file or directory", 2)
        elif process.files.is_dir(key) and "d" not in options:
            directories.append(path)
        else:
            plain.append(path)
    listing.show("", listing.sorted("", plain))
    headed = "R" in options or len(plain) + len(directories) > 1 or call.status
    pending = listing.sorted("", directories)[::-1]  # the next one stands at the end
    first = not plain
    while pending:
        path = pending.pop()
        if headed:
            call.say(f"{'' if first else chr(10)}{path}:")
        first = False
        names = process.listdir(process.key(path))
        process.run.step(4 + (len(names) >> 2))
        shown = [name for name in names if not name.startswith(".") or {"a", "A"} & options.values.keys()]
        shown += [".", ".."] if options.last_of("aA") == "a" else []
        shown = listing.sorted(f"{path}/", shown)
        listing.show(f"{path}/", shown, totals=True)
        if "R" in options:
            inner = [f"{path.rstrip('/')}/{name}" for name in shown if name not in (".", "..")]
            pending += reversed([each for each in inner if process.files.is_dir(process.key(each))])
    return call.status


class _Listing:
    """The order and the form in which ``ls`` shows names."""

    def __init__(self, call: Call, options: ProgramOptions) -> None:
        self.call = call
        self.options = options

    def _modified_ms(self, path: str) -> int:
        """Return the time of a file on the clock of its run; a directory has the present time (decided here)."""
        process = self.call.process
        times = process.files.times(process.key(path))
        return process.run.clock_ms - (0 if times is None else max(0, process.files.now_ms - times.modified_ms))

    def _size(self, path: str) -> int:
        process = self.call.process
        key = process.key(path)
        return _DIRECTORY_BYTES if process.files.is_dir(key) else process.files.size(key)

    def sorted(self, directory: str, names: list[str]) -> list[str]:
        """Return the names in order: by name or time (``-t``), or the other way round (``-r``)."""
        ordered = sorted(names)
        if "t" in self.options:
            ordered.sort(key=lambda name: -self._modified_ms(directory + name))
        return ordered[::-1] if "r" in self.options else ordered

    def show(self, directory: str, names: list[str], *, totals: bool = False) -> None:
        """Print names, with ``-l`` in the long form, where a directory begins with the size of its files."""
        options, files, process = self.options, self.call.process.files, self.call.process
        if "l" not in options:
            self.call.out.append("".join(f"{name}\n" for name in names))
            return
        paths = [directory + name for name in names]
        sizes = [self._size(path) for path in paths]
        if totals:
            blocks = sum(-(-size // 4096) * 4 for size in sizes)
            self.call.say(f"total {_human(blocks * 1024) if 'h' in options else blocks}")
        shown = [_human(size) if "h" in options else str(size) for size in sizes]
        width, user = max(map(len, shown), default=0), process.env.get("USER", "root")
        for path, name, size in zip(paths, names, shown, strict=True):
            mode = "drwxr-xr-x 2" if files.is_dir(process.key(path)) else "-rw-r--r-- 1"
            self.call.say(f"{mode} {user} {user} {size:>{width}} {self._date(path)} {name}")

    def _date(self, path: str) -> str:
        then_ms, now_ms = self._modified_ms(path), self.call.process.run.clock_ms
        return formatted(then_ms, "%b %e %H:%M" if now_ms - then_ms < _HALF_A_YEAR_MS else "%b %e  %Y")


_DIRECTORY_BYTES = 4096
_HALF_A_YEAR_MS = 15_778_476_000


def _human(size: int) -> str:
    """Return a size in the largest fitting unit of 1,024, rounded up."""
    value, unit = float(size), ""
    for unit in ("", "K", "M", "G", "T"):
        if value < 1024 or unit == "T":
            break
        value /= 1024
    if not unit:
        return str(size)
    tenths = ceil(value * 10)
    return f"{tenths / 10:.1f}{unit}" if tenths < 100 else f"{ceil(value)}{unit}"


@_program("pwd")
def _pwd(call: Call) -> int:
    call.say(call.process.root.native(call.process.cwd))
    return 0


@Program("basename", stops=True, least=1, most=2)
def _basename(call: Call, options: ProgramOptions) -> int:
    """Print the last part of a path, without a suffix."""
    path, *suffix = options.operands
    name = path.rstrip("/").rpartition("/")[2] or ("/" if path else "")
    call.say(name if [name] == suffix else name.removesuffix("".join(suffix)))
    return 0


@Program("dirname", least=1)
def _dirname(call: Call, options: ProgramOptions) -> int:
    """Print paths without their last part."""
    for path in options.operands:
        head = path.rstrip("/").rpartition("/")[0].rstrip("/")
        call.say(head or ("/" if path.startswith("/") else "."))
    return 0


@_program("hostname")
def _hostname(call: Call) -> int:
    """Print the id of the node, which stands for the name of its machine (decided here)."""
    if call.args:
        raise NotSimulated
    named = call.process.files.read("/etc/hostname") or call.process.env.get("AZ_BATCH_NODE_ID", "localhost")
    call.say(named.strip())
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
        if text is None and process.must_know(key) and not process.run.is_described:
            if bash:
                return call.fail(f"bash: {args[0]}: No such file or directory", 127)
            return call.fail(f"{call.name}: 0: cannot open {args[0]}: No such file", 2)
        if not text:
            raise NotSimulated
        return process.runner.run_child(text, args[0], args[1:], bash=bash, options=options)
    if not call.stdin.text:
        raise NotSimulated
    return process.runner.run_child(call.stdin.read(), call.name, args, bash=bash, options=options)


@Program("uname", "s n m o")
def _uname(call: Call, options: ProgramOptions) -> int:
    known = {"s": "Linux", "n": call.process.env.get("AZ_BATCH_NODE_ID", "localhost"), "m": "x86_64", "o": "GNU/Linux"}
    call.say(" ".join(known[letter] for letter in "snmo" if letter in options) or "Linux")
    return 0
