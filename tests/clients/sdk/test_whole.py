"""What the other tests of a library have called: this file comes last."""

from __future__ import annotations

import pytest


def test_every_operation_of_the_library_is_called(client, request):
    if len({item.path for item in request.session.items}) < 8 or hasattr(request.config, "workerinput"):
        pytest.skip("counts only where all tests of the library run in one process")
    assert client.operations - client.called == set()
