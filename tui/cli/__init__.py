"""The command line ``batchdeck``: its commands, and what they print without a screen."""

from tui.cli.commands import main

__all__ = ["main"]
