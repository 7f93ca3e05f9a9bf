"""Names and addresses of hosts: which ones are of this machine alone."""

from __future__ import annotations

import pytest

from engine.base.hosts import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"])
def test_nobody_else_reaches_these(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "192.0.2.1", "0.0.0.0", "::", "::2", "127.example.org", "localhost.example.org"])
def test_these_may_be_elsewhere(host):
    assert not is_loopback(host)
