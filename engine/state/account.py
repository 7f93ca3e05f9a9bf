"""The account of a run and its region, as they are at this moment.

The account has quotas, applications (ACC-4, APP-1) and certificates (CERT-4). The region knows how many nodes of a size
it can still give, and the outages of its storage; both are set by the faults of the scenario, without which everything
can be had at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import CERTIFICATE
from engine.base.log import EventLog, LogSubject
from engine.base.terms import CertificateState
from engine.specs.account import Application, Quotas, series_key
from engine.state.tables import Kept, Record, Records, rule_of_move

if TYPE_CHECKING:
    from engine.specs.account import Account, Certificate, Package


class AccountTable(Kept):
    """The account, which is one body that is replaced as a whole when something in it changes."""

    KEPT = ("account", "_revisions")

    def __init__(self, account: Account) -> None:
        """Create the table with the account of the scenario."""
        self.account = account
        # How often a package has been uploaded again, by application id in lower case and version (APP-2).
        self._revisions: dict[tuple[str, str], int] = {}

    def set_quotas(self, changes: Mapping[str, object]) -> None:
        """Change the quotas that are named, and of those per VM series the series that are named (ACC-4)."""
        quotas = self.account.quotas
        update = dict(changes)
        per_series = update.get("dedicated_cores_per_vm_series")
        if isinstance(per_series, Mapping):
            named = {series_key(series) for series in per_series}
            known = quotas.dedicated_cores_per_vm_series or {}
            others = {series: most for series, most in known.items() if series_key(series) not in named}
            update["dedicated_cores_per_vm_series"] = others | dict(per_series)
        changed: Quotas = quotas.model_copy(update=update)
        self.account = self.account.model_copy(update={"quotas": changed})

    def put_application(self, application: Application) -> None:
        """Add an application, or replace the one of this id (APP-1)."""
        known = self.account.applications
        wanted = application.id.lower()
        changed = tuple(application if each.id.lower() == wanted else each for each in known)
        self.account = self.account.model_copy(
            update={"applications": changed if application in changed else (*known, application)}
        )

    def count_upload(self, application_id: str, version: str) -> None:
        """Count an upload of a package: what nodes have of an earlier one is out of date from now on (APP-2)."""
        key = application_id.lower(), version
        self._revisions[key] = self._revisions.get(key, 0) + 1

    def revision(self, package: Package) -> int:
        """Return how often the package has been uploaded since the run began."""
        return self._revisions.get((package.application.id.lower(), package.version), 0)


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
        """Create a table of the certificates that the account has before the run begins."""
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
        active = tuple(each.spec for each in self.rows if each.state is CertificateState.ACTIVE)
        self.account.account = self.account.account.model_copy(update={"certificates": active})


class Capacity(NamedTuple):
    """The number of nodes of a VM size that can still be had, and the error code of a request for more (RSZ-12)."""

    nodes: int
    code: str


class Region(Kept):
    """The limits and outages of this moment."""

    KEPT = ("_capacity", "_outages")

    def __init__(self) -> None:
        """Create a region without limits and outages."""
        self._capacity: dict[str, Capacity] = {}  # by VM size in lower case
        self._outages: tuple[tuple[int, int | None], ...] = ()  # beginnings and ends in ms; None: the end of the run

    def capacity_of(self, vm_size: str) -> Capacity | None:
        """Return what is left of a VM size; None if it is not limited."""
        return self._capacity.get(vm_size.lower())

    def set_capacity(self, vm_size: str, nodes: int, code: str) -> None:
        """Limit how many nodes of a VM size can still be had; ``code`` says why not more (RSZ-12)."""
        self._capacity[vm_size.lower()] = Capacity(nodes, code)

    def use_capacity(self, vm_size: str, count: int) -> None:
        """Take nodes of a VM size from what can still be had."""
        left = self.capacity_of(vm_size)
        if left is not None:
            self._capacity[vm_size.lower()] = left._replace(nodes=left.nodes - count)

    def add_outage(self, now_ms: int, for_ms: int | None) -> None:
        """Begin a storage outage, in which no download begins (RETRY-1); None: until the end of the run."""
        self._outages = (*self._outages, (now_ms, None if for_ms is None else now_ms + for_ms))

    @property
    def has_had_outages(self) -> bool:
        """True from the first storage outage on."""
        return bool(self._outages)

    def is_out(self, now_ms: int) -> bool:
        """Return whether storage does not answer at this moment."""
        return any(start <= now_ms and (end is None or now_ms < end) for start, end in self._outages)
