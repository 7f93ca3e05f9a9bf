"""Write the manual page that a wheel installs, ``tui/cli/batchdeck.1``, from the help of all commands.

``python -m tests.man`` writes it; a test checks that it is up to date.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui import __version__
from tui.cli.commands import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "tui" / "cli" / "batchdeck.1"
CHANGES = ROOT / "CHANGELOG.md"


def page() -> str:
    """Return the manual page in roff, with the date of the version in the changelog."""
    (date,) = re.findall(rf"^## \[{re.escape(__version__)}\] - (.+)$", CHANGES.read_text("utf-8"), re.MULTILINE)
    lines = [
        f'.TH BATCHDECK 1 "{date}" "batchdeck {__version__}" "User Commands"',
        ".SH NAME",
        *filled(f"batchdeck - {cli.get_short_help_str(200).rstrip('.')}"),
        ".SH SYNOPSIS",
        ".B batchdeck",
        "[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]",
        ".SH DESCRIPTION",
        *list(paragraphs(cli))[1:],
        ".SH COMMANDS",
    ]
    for name, command in sorted(cli.commands.items()):
        lines += section(name, command)
    lines += [
        ".SH ENVIRONMENT",
        *described("NO_COLOR", "If it is set, the output has no colours."),
        *described("COLUMNS", "The width of tables, in place of that of the terminal."),
        ".SH SEE ALSO",
        "\\fBbatchdeck docs\\fR lists the pages of the documentation.",
    ]
    return "\n".join(lines) + "\n"


def section(name: str, command: click.Command) -> Iterator[str]:
    """Yield the lines about one command: how it is called, its help and its options."""
    with click.Context(command, info_name=f"batchdeck {name}") as context:
        yield f".SS {escaped(' '.join((context.command_path, *command.collect_usage_pieces(context))))}"
        yield from list(paragraphs(command))[1:]  # it follows a heading already
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and record[1] and "--help" not in parameter.opts:
                yield from described(*record)


def paragraphs(command: click.Command) -> Iterator[str]:
    """Yield the help of a command; what click leaves as it is keeps its lines."""
    for block in inspect.cleandoc(command.help or "").split("\n\n"):
        yield ".PP"
        if block.startswith("\b"):
            yield from (".nf", *map(escaped, block.splitlines()[1:]), ".fi")
        else:
            yield from filled(block)


def described(term: str, about: str) -> list[str]:
    """Return the lines of a term with what it means."""
    return [".TP", f"\\fB{escaped(term)}\\fR", *filled(about)]


def filled(text: str) -> list[str]:
    """Return a paragraph as lines of the file; where they end does not matter to the page."""
    return [escaped(line) for line in textwrap.wrap(text, 72, break_on_hyphens=False)]


def escaped(text: str) -> str:
    """Return a line of text as roff shows it."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown.startswith((".", "'", " ")) else shown


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
