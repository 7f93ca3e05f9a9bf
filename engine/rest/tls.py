"""Certificates of the server's own making, for clients that send bearer tokens only over TLS."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import trustme

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("127.0.0.1", "::1", "localhost")
"""The hosts for which a certificate always holds."""


class Files(NamedTuple):
    """PEM files: the server's certificate with its key, and that of the authority, which clients have to trust."""

    certificate: str
    authority: str


@contextmanager
def certificate_for(host: str) -> Iterator[Files]:
    """Make a certificate for ``NAMES`` and one more host, and delete its files at the end of the block."""
    with TemporaryDirectory(prefix="batchdeck-tls-") as folder:
        authority = trustme.CA()
        certificate = authority.issue_cert(*dict.fromkeys((*NAMES, host)))
        files = Files(str(Path(folder) / "server.pem"), str(Path(folder) / "ca.pem"))
        certificate.private_key_and_cert_chain_pem.write_to_path(files.certificate)
        authority.cert_pem.write_to_path(files.authority)
        yield files
