"""The engine beside the bare SimPy program that does the same work: ``python -m tests.bench``."""

import tui  # noqa: F401  # ahead of Textual, to which it says how often to draw
