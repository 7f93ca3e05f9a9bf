"""``python -m tests.bench [PART] [OPTION ...]``: what batchdeck costs, in one table; PART is one of ``_PARTS``.

Each part stands beside a bare yardstick and takes turns with it in the same minute, so that ratios travel between
machines; seconds do not. Without a part the small set runs. Nothing but a wrong answer makes the exit status nonzero.
``python -m tests.bench PART --help`` shows the options of a part.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module

from tests.bench.results import Form, Sheet
from tests.bench.trees import checkout, compare_part

_PARTS = ("whole", "engine", "dashboard", "studies", "page", "execution")
_COMPARE_THEMSELVES = ("whole", "engine")  # one measurement at a time, and with commits that have another bench
_SMALL = (["whole", "--tasks", "20000"], ["engine", "plain-100k", "full-100k"])


def main() -> None:
    """Measure the part that is named, or the small set, and print the table."""
    given = sys.argv[1:]
    if given[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return
    is_small = not given or given[0].startswith("-")
    chosen = [_parsed(call) for call in ([[*small, *given] for small in _SMALL] if is_small else [given])]
    sheet = Sheet(chosen[0].form)
    for arguments in chosen:
        _measure(sheet, arguments)


def _parsed(call: list[str]) -> argparse.Namespace:
    """Return the arguments of a part. No other part is imported: a child's peak begins with the size of its parent."""
    part, *options = call
    if part not in _PARTS:
        raise SystemExit(f"there is no part {part!r}: give one of {', '.join(_PARTS)}")
    module = import_module(f"tests.bench.{part}")
    parser = argparse.ArgumentParser(prog=f"python -m tests.bench {part}", description=module.__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="turns of the part and its yardstick")
    parser.add_argument("--compare", metavar="COMMIT", help="take turns with another commit")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--form", type=Form, choices=list(Form), default=Form.TEXT)
    form.add_argument("--markdown", dest="form", action="store_const", const=Form.MARKDOWN)
    module.add_arguments(parser)
    return parser.parse_args(options, argparse.Namespace(part=part))


def _measure(sheet: Sheet, arguments: argparse.Namespace) -> None:
    part = arguments.part
    with ExitStack() as stack:
        base = None
        if arguments.compare:
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            base = stack.enter_context(checkout(arguments.compare, directory))
        if base is None or part in _COMPARE_THEMSELVES:
            import_module(f"tests.bench.{part}").measure(sheet, arguments, base)
        else:
            compare_part(sheet, [part, *_options(arguments)], arguments.rounds, base)


def _options(arguments: argparse.Namespace) -> Iterator[str]:
    """Return the options of a part as they are given on a command line."""
    for name, value in vars(arguments).items():
        if name not in ("part", "compare", "form"):
            yield f"--{name}"
            yield from map(str, value if isinstance(value, list | tuple) else [value])


if __name__ == "__main__":
    main()
