"""The certificates of the account (CERT)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import CERTIFICATE, rule_of_move
from engine.base.terms import CertificateState
from engine.events.log import EventLog, LogSubject
from engine.state.records import Record, Records

if TYPE_CHECKING:
    from engine.specs.account import Certificate
    from engine.state.account import AccountTable


class Use(NamedTuple):
    """The ids of pools that refer to a certificate, and of nodes that have it: it cannot be deleted (CERT-4)."""

    pools: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(slots=True, eq=False)
class CertificateRecord(Record):
    """A certificate and its state."""

    row: int
    spec: Certificate
    state: CertificateState | None
    since_ms: int
    previous: CertificateState | None = None
    previous_since_ms: int | None = None
    use: Use | None = None  # why the last deletion failed


class CertificateTable(Records[CertificateRecord]):
    """All certificates, deleted ones included; ``account`` has those that can be referred to."""

    def __init__(self, log: EventLog, account: AccountTable) -> None:
        """Make a table of the account's certificates, which exist before the run begins."""
        super().__init__(CertificateRecord)
        self.log = log
        self.account = account
        for spec in account.account.certificates:
            self.add(CertificateRecord(len(self), spec, CertificateState.ACTIVE, 0))

    def present(self) -> Iterator[CertificateRecord]:
        """Return all certificates that have not been deleted."""
        return (record for record in self.rows if record.state is not None)

    def find(self, thumbprint: str) -> CertificateRecord | None:
        """Return the certificate with this thumbprint, in any case; None if there is none."""
        wanted = thumbprint.lower()
        return next((record for record in self.present() if record.spec.thumbprint.lower() == wanted), None)

    def create(self, now_ms: int, spec: Certificate) -> None:
        """Add a certificate, ``active`` (CERT-1)."""
        row = self.add(CertificateRecord(len(self), spec, None, now_ms))
        self.set_state(now_ms, row, CertificateState.ACTIVE)

    def set_state(self, now_ms: int, row: int, new: CertificateState | None, use: Use | None = None) -> None:
        """Change the state by a legal move (CERT-4), and log it."""
        record = self.edit(row)
        old = record.state
        rule = rule_of_move(CERTIFICATE, old, new, "certificate", record.spec.thumbprint)
        record.previous, record.previous_since_ms = old, record.since_ms
        record.state, record.since_ms, record.use = new, now_ms, use
        move = (("thumbprint", record.spec.thumbprint), ("from", old), ("to", new))
        self.log.append(now_ms, self.log.shape("CertificateStateChanged", LogSubject.RUN, *move, ("rule", rule)))
        # Only active ones can be referred to (CERT-4).
        self.account.set_certificates(tuple(each.spec for each in self.rows if each.state is CertificateState.ACTIVE))
