"""The terminal side of batchdeck: the command line and the dashboard."""
