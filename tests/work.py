"""The work of a call in steps of the interpreter, which are as many on a machine that is slow or busy."""

from __future__ import annotations

import sys


def steps_of(call):
    """Return how many lines of Python a call runs, those of all that it calls included."""
    steps, before = 0, sys.gettrace()

    def count(_frame, event, _what):
        nonlocal steps
        steps += event == "line"
        return count

    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps
