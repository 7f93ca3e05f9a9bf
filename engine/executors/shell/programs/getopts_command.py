"""``getopts`` of the Linux shell."""

from __future__ import annotations

from engine.executors.shell.programs.call import Call, check_name


def getopts(call: Call) -> int:
    """Give the next option of the arguments to a variable: 1 if there are no more."""
    process = call.process
    if len(call.args) < 2:
        return call.complain("Usage: getopts optstring var [arg...]", 2)
    letters, name, *given = call.args
    check_name(call, name)
    arguments = given or process.arguments
    shown = process.env.get("OPTIND", "1")
    if shown != process.option_shown:  # the script has set it
        process.option_index, process.option_at = int(shown) if shown.isdecimal() and int(shown) else 1, 0
    found, value = _next(call, letters, arguments)
    if value is None:
        process.env.pop("OPTARG", None)
    else:
        process.env["OPTARG"] = value
    process.env["OPTIND"] = process.option_shown = str(process.option_index)
    process.env[name] = found or "?"
    return int(not found)


def _next(call: Call, letters: str, arguments: list[str]) -> tuple[str, str | None]:
    """Return the next option and its value; the option is "" at the end, ``?`` or ``:`` after a mistake."""
    process = call.process
    word = ""
    if process.option_at and 1 < process.option_index <= len(arguments) + 1:
        word = arguments[process.option_index - 2][process.option_at :]
    if not word:
        word = arguments[process.option_index - 1] if process.option_index <= len(arguments) else ""
        process.option_at = 0
        if len(word) < 2 or word[0] != "-":
            return "", None
        process.option_index += 1
        if word == "--":
            return "", None
        word, process.option_at = word[1:], 1
    letter, rest = word[0], word[1:]
    process.option_at += 1
    silent = letters.startswith(":")
    place = letters.find(letter) if letter != ":" else -1
    if place < 0:
        return "?", _mistake(call, f"Illegal option -{letter}", letter, silent=silent)
    if letters[place + 1 : place + 2] != ":":
        return letter, ""
    process.option_at = 0
    if rest:
        return letter, rest
    if process.option_index > len(arguments):
        return ":" if silent else "?", _mistake(call, f"No arg for -{letter} option", letter, silent=silent)
    process.option_index += 1
    return letter, arguments[process.option_index - 2]


def _mistake(call: Call, text: str, letter: str, *, silent: bool) -> str | None:
    """Report a wrong option, or return it as the value if the script wants to report it itself."""
    if silent:
        return letter
    call.fail(text)
    return None
