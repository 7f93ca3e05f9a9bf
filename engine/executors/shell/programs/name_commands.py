"""``basename`` and ``dirname`` of Linux."""

from __future__ import annotations

from engine.executors.shell.programs.call import Call
from engine.executors.shell.programs.options import OptionTable, ProgramOptions

_BASENAME = OptionTable("az", "s", {"multiple": "a", "suffix": "s", "zero": "z"}, stops=True)
_DIRNAME = OptionTable("z", "", {"zero": "z"})


def basename(call: Call) -> int:
    """Print the last part of paths, without a suffix."""
    options = ProgramOptions(call, _BASENAME)
    names, suffix = options.operands, options.values.get("s", "")
    if not names:
        return call.misuse("missing operand")
    if "a" not in options and "s" not in options:
        if len(names) > 2:
            return call.misuse(f"extra operand '{names[2][:80]}'")
        names, suffix = names[:1], names[1] if len(names) > 1 else ""
    for path in names:
        name = path.rstrip("/").rpartition("/")[2] or ("/" if path else "")
        call.out.append((name if name == suffix else name.removesuffix(suffix)) + _end(options))
    return 0


def dirname(call: Call) -> int:
    """Print paths without their last part."""
    options = ProgramOptions(call, _DIRNAME)
    if not options.operands:
        return call.misuse("missing operand")
    for path in options.operands:
        head = path.rstrip("/").rpartition("/")[0].rstrip("/")
        call.out.append((head or ("/" if path.startswith("/") else ".")) + _end(options))
    return 0


def _end(options: ProgramOptions) -> str:
    return "\0" if "z" in options else "\n"
