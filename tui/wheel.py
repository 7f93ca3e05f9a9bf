"""Hooks of the build: the package ``batchdeck`` of a wheel, and the README as an index of packages shows it.

A wheel that installed ``engine``, ``tui`` and ``scenarios`` side by side would claim names that other projects use for
their own packages: those would break the command, and every run of pytest that loads the plugin. So a wheel has one
package, ``batchdeck``, laid out like a clone, with the three below it and their imports of each other rewritten. An
editable install leaves the files where they are, see ``tui.editable``.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGES = ("engine", "tui", "scenarios")
PAGES = ("README.md", "CHANGELOG.md", "LICENSE")
_OF_THE_BUILD = frozenset({"tui/wheel.py", "tui/editable.py", "engine/py.typed"})
_NOT_NEEDED = frozenset({".pyc", ".svg", ".1"})  # pictures of pages, and the manual page, which has a place of its own
_PICTURE = re.compile(r"^!\[.*\n+", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]+)\]\((?!https?:)[^()]+\)")
_IMPORT = re.compile(rf"^(\s*)from ({'|'.join(PACKAGES)})(?=[. ])", re.MULTILINE)


def installed(text: str) -> str:
    """Return the text of a module with its imports as they are within ``batchdeck``; lines stay where they are."""
    return _IMPORT.sub(r"\1from batchdeck.\2", text)


class Nested(BuildHookInterface):
    """Puts the three packages below ``batchdeck``."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files of the package ``batchdeck``, or its alias for an editable install."""
        root = Path(self.root)
        if version == "editable":
            files = {"tui/editable.py": "batchdeck/__init__.py", "tui/__main__.py": "batchdeck/__main__.py"}
            build_data["force_include_editable"].update({str(root / one): target for one, target in files.items()})
            return
        self._folder = TemporaryDirectory()
        build_data["force_include"].update(self._files(root, Path(self._folder.name)))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the rewritten modules."""
        if version != "editable":
            self._folder.cleanup()

    def _files(self, root: Path, rewritten: Path) -> dict[str, str]:
        """Return the places in the wheel by file; modules are rewritten into a folder first."""
        first = rewritten / "__init__.py"
        first.write_text(f'"""{self.metadata.core.description}"""\n', encoding="utf-8")
        places = {str(first): "batchdeck/__init__.py", str(root / "engine" / "py.typed"): "batchdeck/py.typed"}
        places |= {str(root / page): f"batchdeck/{page}" for page in PAGES}
        for path in (path for package in PACKAGES for path in sorted((root / package).rglob("*.*"))):
            name = path.relative_to(root)
            if not path.is_file() or path.suffix in _NOT_NEEDED or name.as_posix() in _OF_THE_BUILD:
                continue
            source = path
            if path.suffix == ".py":
                source = rewritten / name
                source.parent.mkdir(parents=True, exist_ok=True)
                source.write_text(installed(path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
            places[str(source)] = f"batchdeck/{name.as_posix()}"
        places[str(rewritten / "tui" / "__main__.py")] = "batchdeck/__main__.py"  # `python -m batchdeck`
        return places


class Readme(MetadataHookInterface):
    """Makes the long description of the README."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README without pictures and without links into the repository, which lead nowhere on an index."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = _LINK.sub(r"\1", _PICTURE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
