"""Application packages (APP) that references stand for; ``processes.deliveries`` installs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import InstalledPackage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.specs.account import Account, Package
    from engine.specs.common import ApplicationPackageReference


def packages_of(account: Account, references: Iterable[ApplicationPackageReference]) -> tuple[InstalledPackage, ...]:
    """Return the packages of these references (APP-3, APP-6); a reference without a package is left out."""
    found = ((reference, account.package_verdict(reference)) for reference in references)
    return tuple(
        InstalledPackage(package.application.id, package.version, pinned=reference.version is not None)
        for reference, package in found
        if not isinstance(package, str)
    )


def blob_name(package: Package) -> str:
    """Return the name of a package in ``simulate.storage``. DECISION: ``app-<application id>/<version>``.

    Packages are blobs of the linked storage account (APP-1); a size given there wins over the application's.
    """
    return f"app-{package.application.id.lower()}/{package.version}"
