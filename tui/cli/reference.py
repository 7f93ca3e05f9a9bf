"""Commands that show what is known without a scenario: rules, VM sizes, the pages of the documentation.

``batchdeck completion`` is here too, which completes commands, options and names in a shell.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import style

from engine.base.values import USD, lazy_regex, shortened, visible
from tui.cli.arguments import (
    DONE,
    echo,
    echo_json,
    echo_list,
    echo_styled,
    output_option,
    prices_option,
    scenario_mistakes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

    from engine.base.rulebook import Chapter, Rule
    from engine.specs.catalogue import VmSize
    from engine.specs.prices import PriceFile
    from tui.viewmodels.text import Span

# --- rules

_WIDEST = 100  # longer lines are hard to read
_NARROWEST = 40


def _complete_rule(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names that begin so, with a line each: chapters, and rules once their chapter is written."""
    from click.shell_completion import CompletionItem

    from engine.base import rulebook

    start = incomplete.upper()
    titles = [(chapter.prefix, chapter.title) for chapter in rulebook.chapters()]
    texts = [(rule.id, rule.text) for rule in rulebook.rules().values()]
    has_chapter = start.partition("-")[0] in dict(titles)
    listed = titles + (texts if has_chapter else [])
    return [CompletionItem(name, help=about) for name, about in listed if name.startswith(start)]


@click.command()
@click.argument("names", nargs=-1, metavar="[ID...]", shell_complete=_complete_rule)
@output_option("text", "json", about="How to show the rules.")
@click.option("--attention", "lists_kinds", is_flag=True, help="List what `run` tells as needing attention instead.")
@click.option("--warnings", "lists_codes", is_flag=True, help="List the codes of the warnings of `check` instead.")
def rules(names: tuple[str, ...], output: str, lists_kinds: bool, lists_codes: bool) -> int:
    """Show the rules of the service that the simulation follows.

    Without an ID, list the chapters; with a prefix such as PREP, the rules of that chapter; with an id such as
    PREP-16, that rule with its source (documented, recorded from the service, or decided here), the option of a
    scenario that changes it, and the modules that implement it.

    \b
    Examples:
      batchdeck rules
      batchdeck rules PREP
      batchdeck rules PREP-16 NOP-3
      batchdeck rules --attention            the kinds in the list of what needs attention
      batchdeck rules --warnings             the codes that `# batchdeck: ignore[code]` silences
    """
    if lists_kinds or lists_codes:
        if names or (lists_kinds and lists_codes):
            raise click.UsageError("--attention and --warnings take no ID, and stand alone.")
        _echo_words(output, lists_codes=lists_codes)
        return DONE
    parts = _chosen(names)
    if output == "json":
        echo(_rules_json(parts))
    else:
        text = _rules_text(parts, shutil.get_terminal_size().columns)
        echo_styled(text, color=False if os.environ.get("NO_COLOR") else None)
    return DONE


def _echo_words(output: str, *, lists_codes: bool) -> None:
    """Print the codes of warnings, or the kinds of what needs attention, with a sentence each."""
    from engine.base.errors import WARNINGS
    from engine.views.diagnosis.concerns import Kind

    texts = WARNINGS if lists_codes else {kind.word: kind.value for kind in Kind}
    if output == "json":
        echo_json([{"code" if lists_codes else "kind": word, "text": text} for word, text in texts.items()])
        return
    echo_list(texts)


def _chosen(names: Sequence[str]) -> list[Chapter | Rule]:
    """Return the chapters and rules of these names, each once, without regard to case. Raises click.BadParameter."""
    from engine.base import rulebook

    found = []
    for name in dict.fromkeys(each.upper() for each in names):
        part = rulebook.find(name)
        if part is None:
            said = f"no rule or chapter is called {name}; the nearest is {rulebook.nearest(name)}."
            raise click.BadParameter(said, param_hint="ID")
        found.append(part)
    return found


def _rules_json(parts: Sequence[Chapter | Rule]) -> str:
    """Return the chapters, or the given chapters and rules, as JSON. The text of a rule is Markdown."""
    from engine.base import rulebook

    listed = [asdict(part) for part in parts]
    if not parts:
        listed = [{**asdict(each), "rules": len(each.rules)} for each in rulebook.chapters()]
    return json.dumps(listed, indent=2, ensure_ascii=False)


def _rules_text(parts: Sequence[Chapter | Rule], columns: int) -> str:
    """Return the list of chapters, or the given chapters and rules, for so many columns; styled for a terminal."""
    from engine.base import rulebook
    from tui.viewmodels.text import rule_lines

    if not parts:
        listed = rulebook.chapters()
        return "\n".join(
            f"{style(f'{each.prefix:<8}', bold=True)}{len(each.rules):>3}  {each.title}" for each in listed
        )
    lines = rule_lines(parts, max(_NARROWEST, min(columns, _WIDEST)), with_code=True)
    return "\n".join("".join(map(_styled, line)) for line in lines)


def _styled(span: Span) -> str:
    from tui.viewmodels.text import Role

    if span.role in (Role.STRONG, Role.DIM):
        return style(span.text, bold=span.role is Role.STRONG, dim=span.role is Role.DIM)
    return span.text


# --- sizes

_HEADINGS = (
    *("size", ">cores", ">GiB", ">disk GB", ">GPUs", ">Linux", ">Windows", ">Linux Spot", ">Windows Spot"),
    *("retires", "replacement"),
)
_WILD = frozenset("*?[")
_PREFIX = "standard_"


@click.command()
@click.argument("patterns", nargs=-1, metavar="[PATTERN...]")
@output_option("table", "json", "csv", about="How to show the sizes.")
@prices_option
def sizes(patterns: tuple[str, ...], output: str, prices: PriceFile | None) -> int:
    """Show VM sizes: what they have, what they cost an hour in US dollars, and when they are retired.

    A PATTERN is a name, a part of names, or has * and ?; case does not matter, and Standard_ may be left out. A size
    that the table lacks but that can exist is shown with figures derived from its name. Without a PATTERN all sizes of
    the table are shown. With --prices a price is that of the file, where it has the size.

    \b
    Examples:
      batchdeck sizes Standard_D4s_v5
      batchdeck sizes 'd4*v5' hb
      batchdeck sizes --output csv > prices.csv
    """
    from engine.specs.catalogue import PRICES_OF, listed_sizes

    found = dict.fromkeys(size for pattern in patterns for size in _matching(pattern)) if patterns else listed_sizes()
    rows = sorted(found, key=lambda size: (size.series.lower(), size.cores, size.name))
    about = f"US dollars an hour: {PRICES_OF}"
    if prices is not None:
        rows, about = _priced(rows, prices, is_table=output == "table")
    if output == "json":
        echo_json(list(map(_size_json, rows)))
    elif output == "csv":
        echo("\n".join([",".join(_size_json(rows[0])), *map(_size_csv, rows)]))
    else:
        echo_styled(_sizes_text(rows, about))
    return DONE


def _priced(sizes: Sequence[VmSize], file: PriceFile, *, is_table: bool) -> tuple[list[VmSize], str]:
    """Return the sizes with the prices of a file, and what these are.

    Raises:
        click.UsageError: Prices are in several currencies, or in another than the columns of the output say.
    """
    from engine.specs.prices import price_list

    with scenario_mistakes():
        found = price_list(file)
    try:
        found = found.settled(size.name for size in sizes)
    except ValueError as mistake:
        raise click.UsageError(f"{mistake}.") from None
    if found.currency != USD and not is_table:
        raise click.UsageError(f"prices are in {found.currency}: only --output table shows them.")
    of = f" of {found.region}" if found.region else ""
    since = f", as of {found.as_of}" if found.as_of else ""
    return list(map(found.priced, sizes)), f"{found.currency} an hour{of}: {file.name}{since}"


def _matching(pattern: str) -> list[VmSize]:
    """Return the sizes whose names fit a pattern. Raises click.BadParameter."""
    from fnmatch import fnmatchcase

    from engine.specs.catalogue import listed_sizes, nearest_sizes, vm_size

    key = pattern.lower()
    with_prefix = key if key.startswith(_PREFIX) else _PREFIX + key
    listed = listed_sizes()
    if _WILD.intersection(key):
        found = [size for size in listed if any(fnmatchcase(size.name, each) for each in (key, with_prefix))]
    else:
        found = [size for size in listed if size.name == with_prefix] or [size for size in listed if key in size.name]
        derived = None if found else vm_size(key) or vm_size(with_prefix)
        found += [] if derived is None else [derived]
    if not found:
        plain = "".join(letter for letter in with_prefix if letter not in _WILD)
        near = " or ".join(nearest_sizes(plain) or nearest_sizes(plain[:20]))
        hint = f"; the nearest is {near}" if near else ""
        raise click.BadParameter(f"no size is called {visible(shortened(pattern))}{hint}.", param_hint="PATTERN")
    return found


def _size_json(size: VmSize) -> dict[str, object]:
    """Return a size as an object of JSON; null is a price for which there is no offer."""
    from engine.specs.catalogue import is_listed

    return {
        "name": size.name,
        "vcpus": size.cores,
        "memoryGib": _whole(size.memory_gib),
        "tempDiskGb": _whole(size.temp_disk_gib),
        "gpus": _whole(size.gpus),
        "linuxUsdPerHour": size.linux_usd,
        "windowsUsdPerHour": size.windows_usd,
        "linuxSpotUsdPerHour": size.spot_linux_usd,
        "windowsSpotUsdPerHour": size.spot_windows_usd,
        "retires": None if size.retires is None else size.retires.isoformat(),
        "replacement": size.replacement or None,
        "listed": is_listed(size.name),
    }


def _whole(value: float | None) -> float | None:
    return int(value) if value is not None and value == int(value) else value


def _size_csv(size: VmSize) -> str:
    return ",".join(
        str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
        for value in _size_json(size).values()
    )


def _sizes_text(sizes: Sequence[VmSize], about: str) -> str:
    """Return the table of sizes, with a line about its prices and one about sizes that are derived."""
    from engine.specs.catalogue import is_listed
    from tui.cli.output import parts_text, plain_text, table
    from tui.saving.console import console

    target = console(to_stderr=False)
    rows = [
        ["" if value is None else f"{value:,}" if isinstance(value, int | float) else str(value) for value in row]
        for row in (list(_size_json(size).values())[:-1] for size in sizes)
    ]
    notes = [f"Prices in {about}."]
    derived = [size.name for size in sizes if not is_listed(size.name)]
    if derived:
        notes.append(f"Not in the table, so derived from the name: {', '.join(derived)}.")
    return parts_text([table("", _HEADINGS, rows, target), plain_text("\n".join(notes))], target)


# --- pages

_HOME = Path(__file__).parents[2]  # the folder that has README.md: of the clone, or of the installed package
_ROW = lazy_regex(r"^\| \[[^]]+\]\(([^)]+)\) \| (.+) \|$", re.MULTILINE)
_RELATIVE = lazy_regex(r"^!\[.*\n+|\[([^][]+)\]\((?!https?:)[^()]+\)", re.MULTILINE)


def _pages() -> dict[str, tuple[Path, str]]:
    """Return the pages that are installed by their names, each with a line about it: those that the README lists."""
    listed = _ROW.findall((_HOME / "README.md").read_text(encoding="utf-8"))
    files = {"README.md": "what batchdeck is for, and how to begin", **dict(listed)}
    paths = {_HOME / file: about for file, about in files.items()}
    return {
        (path.parent.name if path.name == "README.md" and path.parent != _HOME else path.stem).lower(): (path, about)
        for path, about in paths.items()
        if path.is_file()
    }


def _complete_page(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of pages that begin so, with a line each."""
    from click.shell_completion import CompletionItem

    found = _pages().items()
    return [CompletionItem(name, help=about) for name, (_, about) in found if name.startswith(incomplete.lower())]


@click.command()
@click.argument("page", required=False, shell_complete=_complete_page)
def docs(page: str | None) -> int:
    """Show the documentation: the list of its pages, or one PAGE.

    In a terminal a page is laid out for it; a pipe or a file gets the Markdown as it is.

    \b
    Examples:
      batchdeck docs
      batchdeck docs cli
      batchdeck docs scenarios | less
      batchdeck docs rules > rules.md
    """
    pages = _pages()
    if page is None:
        echo_list({name: about for name, (_, about) in pages.items()})
        return DONE
    if page.lower() not in pages:
        (near,) = get_close_matches(page.lower()[:_WIDEST], pages, 1, 0)
        said = f"no page is called {visible(shortened(page))}; the nearest is {near}, and `batchdeck docs` lists all."
        raise click.BadParameter(said, param_hint="PAGE")
    text = pages[page.lower()][0].read_text(encoding="utf-8")
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        from tui.saving.console import console

        target = console(to_stderr=False)
        plain = _RELATIVE.sub(r"\1", text)  # links between pages lead nowhere from a terminal
        target.print(Markdown(plain, hyperlinks=False), width=max(_NARROWEST, min(target.width, _WIDEST)))
    else:
        echo(text, nl=False)
    return DONE


# --- completion

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", required=False, type=click.Choice(_SHELLS))
@click.option(
    "--install", is_flag=True, help="Write the script to where the shell looks for it, and say where that is."
)
@click.pass_context
def completion(context: click.Context, shell: str | None, install: bool) -> int:
    """Print the script that completes commands, options and names in a SHELL, or install it.

    Without SHELL it is for the shell of $SHELL. No startup file is changed: where a shell needs a line in one, that
    line is printed.

    \b
    Examples:
      batchdeck completion --install         once, for all later shells
      eval "$(batchdeck completion zsh)"     for this shell only; so too in bash
      batchdeck completion fish | source     for this shell only
    """
    from click.shell_completion import get_completion_class

    used = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(used)
    if used not in _SHELLS or kind is None:
        raise click.UsageError(f"$SHELL is none of {', '.join(_SHELLS)}: name one.")
    script = kind(context.find_root().command, {}, "batchdeck", "_BATCHDECK_COMPLETE").source()
    script = script.replace('string split ","', 'string split --max 1 ","')  # in fish: descriptions may have commas
    if install:
        _install(used, f"{script.strip()}\n")
    else:
        echo(script)
    return DONE


def _install(shell: str, script: str) -> None:
    """Write the script of a shell, unless it is there, and print where it is and what else the shell needs.

    Raises:
        TargetError: The file cannot be written.
        click.UsageError: There is no home directory.
    """
    from tui.saving.targets import FileLines, reported

    try:
        path, needs = _place(shell)
    except RuntimeError as error:
        raise click.UsageError(f"{error} Set HOME.") from None
    with reported(path, before_run=True):
        is_there = path.is_file() and path.read_bytes() == script.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
    if not is_there:
        with FileLines(path) as target:
            target.write_bytes([script.encode()])
            target.keep()
    echo(f"{path} {'is there already' if is_there else 'is written'}. {needs}")


def _place(shell: str) -> tuple[Path, str]:
    """Return the file in which a shell looks for a user's completion of ``batchdeck``, and what it needs besides.

    Raises RuntimeError if there is no home directory.
    """
    from shlex import quote

    home, given = Path.home(), os.environ.get
    if shell == "fish":
        config = Path(given("XDG_CONFIG_HOME") or home / ".config")
        return config / "fish" / "completions" / "batchdeck.fish", "New shells find it."
    if shell == "zsh":
        path = Path(given("ZDOTDIR") or home) / ".zfunc" / "_batchdeck"
        line = f"fpath=({quote(str(path.parent))} $fpath); autoload -Uz compinit; compinit"
        return path, f"New shells find it once .zshrc has this line:\n{line}"
    data = Path(given("XDG_DATA_HOME") or home / ".local" / "share")
    path = Path(given("BASH_COMPLETION_USER_DIR") or data / "bash-completion") / "completions" / "batchdeck"
    return (
        path,
        f"New shells find it by the package bash-completion; without it .bashrc needs this line:\n. {quote(str(path))}",
    )
