"""The command line ``batchdeck``: its commands, and what they print without a screen.

Signals are handled before anything is imported that takes time.
"""

from tui import interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line: as a process of its own, or in this one if ``arguments`` are given."""
    if arguments is None:
        interrupts.install()
    from engine.base import runtime

    with runtime.gc_relaxed(runtime.FOR_IMPORTS):
        from tui.cli import commands

        status = commands.main(arguments)
    return interrupts.finish(status) if arguments is None else status
