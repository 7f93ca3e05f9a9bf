"""Sandboxes for tests, and the folder of a node in each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.execution.programs import Runner, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.execution.sandboxes import Sandbox


@pytest.fixture(scope="module", params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    found = made(request.param)
    yield found
    found.close()


@pytest.fixture(scope="module")
def bubblewrap() -> Iterator[Sandbox]:
    found = made("bubblewrap")
    yield found
    found.close()


@pytest.fixture
def node(sandbox: Sandbox, tmp_path: Path) -> Runner:
    root = tmp_path / "node"
    root.mkdir()
    return Runner(sandbox, root)


@pytest.fixture
def isolated(bubblewrap: Sandbox, tmp_path: Path) -> Runner:
    root = tmp_path / "node"
    root.mkdir()
    return Runner(bubblewrap, root)
