"""Servers for clients."""

from __future__ import annotations

import pytest

from tests.clients.served import serving


@pytest.fixture
def served(tmp_path):
    """A server of an empty account."""
    with serving(tmp_path) as one:
        yield one


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server of an empty account for all tests of a module, which run in their order."""
    with serving(tmp_path_factory.mktemp("account")) as one:
        yield one
