"""Sandboxes for tests with the folder of a node in each, runs of programs, and a blob service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.execution.programs import Runner, made
from tests.execution.runs import Blobs, Real

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


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Any]:
    """Make runs whose programs are ended with the test."""
    runs: list[Real] = []

    def make(*jobs: dict[str, Any], **more: Any) -> Real:
        runs.append(Real(tmp_path / str(len(runs)), *jobs, **more))
        return runs[-1]

    yield make
    for each in runs:
        each.execution.close()


@pytest.fixture
def blobs() -> Iterator[Blobs]:
    service = Blobs()
    yield service
    service.server.shutdown()
    service.server.server_close()
