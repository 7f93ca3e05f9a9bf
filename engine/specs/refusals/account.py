"""Checks of the account: applications, packages and certificates (APP-1, ACC-5, CERT-1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted
from engine.specs.account import Account, Certificate, CertificateFormat
from engine.specs.commands import CreateApplicationPackage
from engine.specs.refusals.parts import Path, Refusal, display_name_refusals, id_refusals, invalid

_MOST_APPLICATIONS, _MOST_PACKAGES, _VERSION_MAX = 20, 40, 64
_THUMBPRINT = lazy_regex(r"[0-9a-fA-F]+")


def account_refusals(account: Account) -> list[Refusal]:
    """Return what is wrong with the account of a scenario."""
    return [*_applications(account), *_certificates(account)]


def certificate_refusals(certificate: Certificate, path: Path = ()) -> list[Refusal]:
    """Return what the service refuses in a certificate (CERT-1)."""
    refusals = []
    if not _THUMBPRINT.fullmatch(certificate.thumbprint):
        reason = f"{quoted(certificate.thumbprint)} is not a thumbprint: use hexadecimal digits"
        refusals.append(invalid((*path, "thumbprint"), reason))
    if certificate.thumbprint_algorithm.lower() != "sha1":
        reason = f"is {quoted(certificate.thumbprint_algorithm)}, only sha1 is supported"
        refusals.append(invalid((*path, "thumbprintAlgorithm"), reason))
    if certificate.password is not None and certificate.certificate_format is CertificateFormat.CER:
        refusals.append(invalid((*path, "password"), "is for the format pfx only: a cer file has no private key"))
    return refusals


def package_refusals(command: CreateApplicationPackage, account: Account) -> list[Refusal]:
    """Return what the service refuses in an upload of a package (APP-1, ACC-5)."""
    refusals = [*id_refusals(command.application_id, ("applicationId",)), *_version(command.version, ("version",))]
    application = account.application(command.application_id)
    if application is None and len(account.applications) >= _MOST_APPLICATIONS:
        refusals.append(invalid(("applicationId",), f"is new, and {_MOST_APPLICATIONS} applications are allowed"))
    is_new = application is not None and application.spelling_of(command.version) is None
    if application is not None and is_new and len(application.versions) >= _MOST_PACKAGES:
        refusals.append(invalid(("version",), f"is new, and {_MOST_PACKAGES} versions are allowed"))
    return refusals


def _applications(account: Account) -> Iterator[Refusal]:
    path: Path = ("applications",)
    if len(account.applications) > _MOST_APPLICATIONS:
        yield invalid(path, f"has {len(account.applications)} applications, {_MOST_APPLICATIONS} are allowed")
    yield from _duplicates((application.id for application in account.applications), path, "id", "application")
    for index, application in enumerate(account.applications):
        place: Path = (*path, index)
        yield from id_refusals(application.id, (*place, "id"))
        yield from display_name_refusals(application.display_name, (*place, "displayName"))
        versions = application.versions
        if len(versions) > _MOST_PACKAGES:
            yield invalid((*place, "versions"), f"has {len(versions)} versions, {_MOST_PACKAGES} are allowed")
        yield from _duplicates(versions, (*place, "versions"), None, "version")
        for number, version in enumerate(versions):
            yield from _version(version, (*place, "versions", number))


def _version(version: str, path: Path) -> Iterator[Refusal]:
    if not 1 <= len(version) <= _VERSION_MAX:
        yield invalid(path, f"has {len(version)} characters, 1 to {_VERSION_MAX} are allowed")


def _certificates(account: Account) -> Iterator[Refusal]:
    path: Path = ("certificates",)
    thumbprints = (certificate.thumbprint for certificate in account.certificates)
    yield from _duplicates(thumbprints, path, "thumbprint", "certificate")
    for index, certificate in enumerate(account.certificates):
        yield from certificate_refusals(certificate, (*path, index))


def _duplicates(names: Iterable[str], path: Path, key: str | None, what: str) -> Iterator[Refusal]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name.lower() in seen:
            yield invalid((*path, index, *((key,) if key else ())), f"there is another {what} {quoted(name)}")
        seen.add(name.lower())
