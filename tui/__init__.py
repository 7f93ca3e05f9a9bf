"""The terminal side of batchdeck: the command line and the dashboard."""

__version__ = "0.1.0"
