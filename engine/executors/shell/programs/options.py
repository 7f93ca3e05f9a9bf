"""The options of programs, read as GNU programs read theirs, from a table for each program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.executors.shell.programs.call import Call, NotSimulated, WrongUsage


class OptionTable(NamedTuple):
    """The options of one program: letters, and long names with their letters.

    ``optional`` are letters whose value can only be attached. ``others`` are options that the real program has and the
    small shell does not know: with one of them it counts as an unknown program (TASK-22). ``usage`` is the exit code
    after a wrong option, whose message has ``synopsis`` too. The first operand ends the options of a program that
    ``stops`` there.
    """

    flags: str = ""
    valued: str = ""
    words: Mapping[str, str] = {}
    optional: str = ""
    others: str = ""
    usage: int = 1
    stops: bool = False
    synopsis: str = ""

    def wrong(self, text: str) -> WrongUsage:
        """Return the mistake of a call with wrong options."""
        return WrongUsage(f"{text}\n{self.synopsis}" if self.synopsis else text, self.usage)


class ProgramOptions:
    """The options of a command by letter, and its operands, which may stand between them."""

    def __init__(self, call: Call, table: OptionTable) -> None:
        """Read the arguments.

        Raises:
            WrongUsage: The program has no such option, or the option lacks its value.
            NotSimulated: There is an option that the program has and the small shell does not know.
        """
        self.values: dict[str, str] = {}
        self.operands: list[str] = []
        self.all: list[tuple[str, str]] = []
        self._table = table
        self._rest = iter(call.args)
        for argument in self._rest:
            if argument == "--":
                self.operands += self._rest
            elif argument.startswith("--"):
                self._read_word(argument)
            elif len(argument) > 1 and argument[0] == "-":
                self._read_letters(argument)
            else:
                self.operands.append(argument)
                if table.stops:
                    self.operands += self._rest

    def _read_letters(self, argument: str) -> None:
        table = self._table
        for index, letter in enumerate(argument[1:], start=2):
            if letter in table.flags:
                self._put(letter, "")
            elif letter in table.optional:
                self._put(letter, argument[index:])
                return
            elif letter in table.valued:
                value = argument[index:] or next(self._rest, None)
                if value is None:
                    raise table.wrong(f"option requires an argument -- '{letter}'")
                self._put(letter, value)
                return
            elif letter in table.others:
                raise NotSimulated
            else:
                raise table.wrong(f"invalid option -- '{letter}'")

    def _read_word(self, argument: str) -> None:
        table = self._table
        given, assigned, value = argument[2:].partition("=")
        name = self._full_name(given)
        letter = table.words.get(name, "")
        if not letter or letter in table.others:
            raise NotSimulated
        if letter in table.valued and not assigned:
            following = next(self._rest, None)
            if following is None:
                raise table.wrong(f"option '--{name}' requires an argument")
            value = following
        elif assigned and letter in table.flags:
            raise table.wrong(f"option '--{name}' doesn't allow an argument")
        self._put(letter, value)

    def _full_name(self, given: str) -> str:
        """Return the name of a long option, which may be written as far as it is unique."""
        known = {*self._table.words, "help", "version"}
        if given in known:
            return given
        names = sorted(name for name in known if name.startswith(given))
        if not names:
            raise self._table.wrong(f"unrecognized option '--{given[:80]}'")
        if len({self._table.words.get(name, name) for name in names}) > 1:
            possible = " ".join(f"'--{name}'" for name in names)
            raise self._table.wrong(f"option '--{given}' is ambiguous; possibilities: {possible}")
        return names[0]

    def _put(self, letter: str, value: str) -> None:
        self.values[letter] = value
        self.all.append((letter, value))

    def __contains__(self, letter: str) -> bool:
        return letter in self.values

    def last_of(self, letters: str) -> str:
        """Return the letter that was given last of several that exclude each other, or ""."""
        return next((letter for letter, _ in reversed(self.all) if letter in letters), "")
