"""The Linux programs about time, names and the environment."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from engine.executors.commands import Builtin, Call, NotSimulated, Options

_SLEEP = re.compile(r"(?P<number>\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?P<unit>[smhd]?)", re.ASCII)
_UNIT_MS = {"": 1_000, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_MS = 3_650 * 86_400_000
_ASSIGNMENT = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


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


def sleep(call: Call) -> int:
    """Let the simulated time of the process pass."""
    if not call.args:
        return call.fail("sleep: missing operand")
    total = slept_ms(call.args)
    if total is None:
        return call.fail(f"sleep: invalid time interval '{' '.join(call.args)[:80]}'")
    run = call.process.run
    run.clock_ms = min(run.clock_ms + total, run.start_ms + _LONGEST_MS)
    return 0


def _date(call: Call) -> int:
    """Print the simulated time of the process, in UTC."""
    form = "%a %b %e %H:%M:%S UTC %Y"
    for argument in call.args:
        if argument.startswith("+"):
            form = argument[1:]
        elif argument in ("-R", "--rfc-email"):
            form = "%a, %d %b %Y %H:%M:%S +0000"
        elif argument in ("-I", "-Idate", "--iso-8601"):
            form = "%Y-%m-%d"
        elif argument in ("-Iseconds", "--iso-8601=seconds"):
            form = "%Y-%m-%dT%H:%M:%S+00:00"
        elif argument not in ("-u", "--utc", "--universal"):
            raise NotSimulated
    call.say(_formatted(call.process.run.clock_ms, form))
    return 0


def _formatted(clock_ms: int, form: str) -> str:
    seconds, fraction_ms = divmod(clock_ms, 1000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.fromtimestamp(0, UTC)
    weekday, month, hour = moment.weekday(), _MONTHS[moment.month - 1], moment.hour % 12 or 12
    year, week, iso_day = moment.isocalendar()
    day_of_year = moment.timetuple().tm_yday
    day, clock = f"{moment.day:02}", f"{moment.hour:02}:{moment.minute:02}:{moment.second:02}"
    values = {
        "%": "%", "n": "\n", "t": "\t",
        "Y": f"{moment.year:04}", "y": f"{moment.year % 100:02}", "C": f"{moment.year // 100:02}",
        "m": f"{moment.month:02}", "d": day, "e": f"{moment.day:2}", "j": f"{day_of_year:03}",
        "H": f"{moment.hour:02}", "I": f"{hour:02}", "k": f"{moment.hour:2}", "l": f"{hour:2}",
        "M": f"{moment.minute:02}", "S": f"{moment.second:02}", "s": str(seconds), "N": f"{fraction_ms * 1_000_000:09}",
        "p": "AM" if moment.hour < 12 else "PM", "P": "am" if moment.hour < 12 else "pm",
        "a": _WEEKDAYS[weekday][:3], "A": _WEEKDAYS[weekday], "b": month[:3], "h": month[:3], "B": month,
        "u": str(iso_day), "w": str(iso_day % 7), "V": f"{week:02}", "G": str(year), "g": f"{year % 100:02}",
        "U": f"{(day_of_year + 6 - iso_day % 7) // 7:02}", "W": f"{(day_of_year + 6 - weekday) // 7:02}",
        "F": f"{moment.year:04}-{moment.month:02}-{day}", "D": f"{moment.month:02}/{day}/{moment.year % 100:02}",
        "x": f"{moment.month:02}/{day}/{moment.year % 100:02}", "T": clock, "X": clock, "R": clock[:5],
        "r": f"{hour:02}:{clock[3:]} {'AM' if moment.hour < 12 else 'PM'}",
        "c": f"{_WEEKDAYS[weekday][:3]} {month[:3]} {moment.day:2} {clock} {moment.year}",
        "z": "+0000", "Z": "UTC",
    }  # fmt: skip

    def one(found: re.Match[str]) -> str:
        flag, letter = found[1], found[2]
        if letter == "N" and flag.isdecimal():
            return values["N"][: int(flag)]
        value = values.get(letter)
        if value is None:
            return found[0]
        if flag == "-":
            return value.lstrip("0 ") or "0"
        return value.replace(" ", "0") if flag == "0" else value.upper() if flag == "^" else value

    return re.sub(r"%([-_0^]?|[1-9])([A-Za-z%])", one, form)


def _basename(call: Call) -> int:
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    if args and len(args[0]) > 1 and args[0].startswith("-"):
        raise NotSimulated
    if not args:
        return call.fail("basename: missing operand")
    if len(args) > 2:
        return call.fail(f"basename: extra operand '{args[2]}'")
    name = args[0].rstrip("/").rpartition("/")[2] or ("/" if args[0] else "")
    if len(args) > 1 and name != args[1]:
        name = name.removesuffix(args[1])
    call.say(name)
    return 0


def _dirname(call: Call) -> int:
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    if not args:
        return call.fail("dirname: missing operand")
    for path in args:
        head = path.rstrip("/").rpartition("/")[0].rstrip("/")
        call.say(head or ("/" if path.startswith("/") else "."))
    return 0


def _hostname(call: Call) -> int:
    """Print the id of the node, which stands for the name of its machine (decided here)."""
    if call.args:
        raise NotSimulated
    call.say(call.process.env.get("AZ_BATCH_NODE_ID", "localhost"))
    return 0


def _env(call: Call) -> int:
    """Print the exported variables, or run a command with some more of them."""
    process = call.process
    shown = {name: text for name, text in process.env.items() if name in process.exported}
    args = list(call.args)
    while args and args[0].startswith("-"):
        option = args.pop(0)
        if option in ("-i", "-", "--ignore-environment"):
            shown = {}
        elif option == "-u" and args:
            shown.pop(args.pop(0), None)
        else:
            raise NotSimulated
    while args and (found := _ASSIGNMENT.fullmatch(args[0])):
        shown[found[1]] = found[2]
        args.pop(0)
    if not args:
        for name, text in shown.items():
            call.say(f"{name}={text}")
        return 0
    assert process.runner is not None
    before = process.env, process.exported
    process.env, process.exported = shown, set(shown)
    try:
        return process.runner.run_words(args, functions=False)
    finally:
        process.env, process.exported = before


def _printenv(call: Call) -> int:
    process = call.process
    if not call.args:
        return _env(call)
    status = 0
    for name in call.args:
        if name in process.exported and name in process.env:
            call.say(process.env[name])
        else:
            status = 1
    return status


def _which(call: Call) -> int:
    """Print the path of programs: every program exists."""
    assert call.process.runner is not None
    for name in call.args:
        call.say(name if "/" in name else f"/usr/bin/{name}")
    return int(not call.args)


def _shell(call: Call) -> int:
    """Run a script in a new shell: from ``-c``, from a file whose text is known, or from standard input."""
    process, args = call.process, list(call.args)
    bash, options, script = call.name == "bash", set[str](), False
    while args and len(args[0]) > 1 and args[0][0] == "-":
        letters = args.pop(0)[1:]
        if not set(letters) <= set("ceuxfl"):
            raise NotSimulated
        names = {"e": "errexit", "u": "nounset", "x": "xtrace", "f": "noglob"}
        options |= {names[letter] for letter in letters if letter in names}
        script |= "c" in letters
    assert process.runner is not None
    if script:
        if not args:
            return call.fail(f"{call.name}: 0: -c requires an argument", 2)
        name, arguments = (args[1], args[2:]) if len(args) > 1 else (call.name, [])
        return process.runner.run_child(args[0], name, arguments, bash=bash, options=options)
    if args:
        text = process.files.read(process.key(args[0]))
        if not text:
            raise NotSimulated
        return process.runner.run_child(text, args[0], args[1:], bash=bash, options=options)
    if not call.stdin.text:
        raise NotSimulated
    return process.runner.run_child(call.stdin.read(), call.name, [], bash=bash, options=options)


def _uname(call: Call) -> int:
    options = Options(call, "snrvmpioa")
    if not set(options.values) <= {"s", "m", "o", "n"}:
        raise NotSimulated
    known = {"s": "Linux", "n": call.process.env.get("AZ_BATCH_NODE_ID", "localhost"), "m": "x86_64", "o": "GNU/Linux"}
    call.say(" ".join(known[letter] for letter in "snmo" if letter in options) or "Linux")
    return 0


def _exit_of_false(_: Call) -> int:
    return 1


PROGRAM_COMMANDS: dict[str, Builtin] = {
    "basename": _basename,
    "bash": _shell,
    "dash": _shell,
    "date": _date,
    "dirname": _dirname,
    "env": _env,
    "false": _exit_of_false,
    "hostname": _hostname,
    "printenv": _printenv,
    "sh": _shell,
    "sleep": sleep,
    "uname": _uname,
    "which": _which,
}
