"""The account of a run: its quotas, applications and certificates at this moment (ACC-4, APP-1, CERT-4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from engine.specs.account import Application, Quotas, series_key

if TYPE_CHECKING:
    from engine.specs.account import Account, Certificate, Package


class AccountCopy(NamedTuple):
    """A copy of the account."""

    account: Account
    revisions: dict[tuple[str, str], int]


class AccountTable:
    """The account, which is one body that is replaced as a whole when something in it changes."""

    def __init__(self, account: Account) -> None:
        """Begin with the account of the scenario."""
        self.account = account
        # How often a package has been uploaded again, by application id in lower case and version (APP-2).
        self._revisions: dict[tuple[str, str], int] = {}

    def copy(self) -> AccountCopy:
        """Return a copy of the account."""
        return AccountCopy(self.account, self._revisions.copy())

    def restore(self, copy: AccountCopy) -> None:
        """Restore the account from a copy."""
        self.account = copy.account
        self._revisions = copy.revisions.copy()

    def set_certificates(self, certificates: tuple[Certificate, ...]) -> None:
        """Set the certificates that can be referred to (CERT-4)."""
        self.account = self.account.model_copy(update={"certificates": certificates})

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
