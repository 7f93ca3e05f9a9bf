"""An account with a pool for the tests of a library, through which they all speak.

With azure-batch 15 these tests run in the environment of all others. ``tests/clients/test_sdk.py`` runs them again in
the environment of azure-batch 14, and says by ``BATCHDECK_ENDPOINT`` where the account is.
"""

from __future__ import annotations

import os
import re

import pytest

from tests.clients.sdk.bodies import pool
from tests.clients.sdk.speaker import speaker, until

ACCOUNT = "localbatch"
KEY = "bG9jYWwtYmF0Y2gta2V5LTAxMjM0NTY3ODk="


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """A client of an account with two applications."""
    endpoint = os.environ.get("BATCHDECK_ENDPOINT")
    if endpoint:
        yield speaker(endpoint, ACCOUNT, KEY)
        return
    from tests.clients.sdk.bodies import SCENARIO
    from tests.clients.served import serving

    directory = tmp_path_factory.mktemp("account")
    scenario = directory / "account.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    with serving(directory, str(scenario)) as served:
        yield speaker(served.url, ACCOUNT, KEY)


@pytest.fixture(scope="session")
def shared(client):
    """The id of a pool with two idle nodes of two slots each, which no test changes."""
    client.create_pool(body=pool("shared", 2, taskSlotsPerNode=2))
    until(lambda: len(client.list_nodes("shared", filter="state eq 'idle'")) == 2)
    return "shared"


@pytest.fixture
def name(request):
    """A name that no other test uses."""
    return re.sub(r"\W", "-", request.node.name.removeprefix("test_").replace("_", "-"))[:60]
