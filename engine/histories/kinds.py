"""The kinds of files that an import reads, beside histories of Azure Batch: recognized by their content."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from engine.histories.files import opened
from engine.histories.reading import json_document

_HEAD = 64 << 10
_NUMBERS = re.compile(rb"\s*(?:[-+]?[\d.]+\s+){17}[-+]?[\d.]+\s*")
_WORKFLOW = re.compile(rb'"workflow"\s*:\s*\{')
_VERSION = re.compile(rb'"schemaVersion"\s*:\s*"1\.')


class FileKind(StrEnum):
    """The kind of a file that is no history of Azure Batch; its value is what ``--as`` takes."""

    SWF = "swf"
    WFFORMAT = "wfformat"
    ARM = "arm"
    TEMPLATE = "template"
    TERRAFORM = "terraform"

    @property
    def words(self) -> str:
        """What a file of this kind is."""
        return _WORDS[self]


_WORDS = {
    FileKind.SWF: "a log in the Standard Workload Format",
    FileKind.WFFORMAT: "a workflow in WfFormat",
    FileKind.ARM: "a template of the resource manager",
    FileKind.TEMPLATE: "a template of the Azure CLI's batch extension or of Batch Explorer",
    FileKind.TERRAFORM: "what terraform show -json prints",
}


class Recognized(NamedTuple):
    """The kind of a file, and what is in it if all of it had to be read for that."""

    kind: FileKind
    document: object = None


def recognized(path: str) -> Recognized | None:
    """Return the kind of a file if its beginning, or its keys, leave no doubt, else None.

    Raises:
        ScenarioError: The file cannot be read.
    """
    with opened(path) as stream:
        head = stream.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{"):
        if _VERSION.search(head) and _WORKFLOW.search(head):
            return Recognized(FileKind.WFFORMAT)
        document = json_document(path) if _TEMPLATE_KEY.search(head) else None
        kind = template_kind(document)
        return None if kind is None else Recognized(kind, document)
    lines = [line.strip() for line in head.split(b"\n") if line.strip()]
    first = next((line for line in lines if not line.startswith(b";")), b"")
    if _NUMBERS.match(first) or (lines and lines[0].startswith(b";") and (not first or first[:1].isdigit())):
        return Recognized(FileKind.SWF)
    return None


_TEMPLATE_KEY = re.compile(rb'"(?:\$schema|contentVersion|format_version|terraform_version|pool|job|resources)"\s*:')


def template_kind(document: object) -> FileKind | None:
    """Return the kind of a template by its keys, None for a document that is none."""
    if not isinstance(document, dict) or "scenario" in document:
        return None
    schema = str(document.get("$schema", "")).lower()
    if "resources" in document and ("deploymenttemplate" in schema or "contentVersion" in document):
        return FileKind.ARM
    if "format_version" in document or "terraform_version" in document:
        return FileKind.TERRAFORM
    parts = [document.get(kind) for kind in ("pool", "job")]
    return FileKind.TEMPLATE if any(isinstance(part, dict | list) for part in parts) else None
