"""Recognizing a log or a workflow by its content."""

from __future__ import annotations

import re
from enum import Enum

from engine.histories.files import opened

_HEAD = 64 << 10
_NUMBERS = re.compile(rb"\s*(?:[-+]?[\d.]+\s+){17}[-+]?[\d.]+\s*")
_WORKFLOW = re.compile(rb'"workflow"\s*:\s*\{')
_VERSION = re.compile(rb'"schemaVersion"\s*:\s*"1\.')


class FileKind(Enum):
    """The kind of a file that is no history of Azure Batch: its option, and its name."""

    SWF = "--swf", "a log in the Standard Workload Format"
    WFFORMAT = "--wfformat", "a workflow in WfFormat"


def kind_of(path: str) -> FileKind | None:
    """Return the kind of a file if its beginning leaves no doubt, else None.

    Raises:
        ScenarioError: The file cannot be read.
    """
    with opened(path) as stream:
        head = stream.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{"):
        return FileKind.WFFORMAT if _VERSION.search(head) and _WORKFLOW.search(head) else None
    lines = [line.strip() for line in head.split(b"\n") if line.strip()]
    first = next((line for line in lines if not line.startswith(b";")), b"")
    if _NUMBERS.match(first) or (lines and lines[0].startswith(b";") and (not first or first[:1].isdigit())):
        return FileKind.SWF
    return None
