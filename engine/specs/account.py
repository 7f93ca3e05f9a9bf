"""The Batch account of a scenario: name, quotas, applications and certificates (ACC-1 to ACC-5)."""

from difflib import get_close_matches
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field, ValidationInfo, field_validator

from engine.base.lazy import lazy_regex
from engine.base.shortening import first_of, quoted, shortened
from engine.base.terms import WireOption
from engine.specs.base import Bool, Identified, Int, Occasional, Secret, Size, Spec, Text
from engine.specs.common import ApplicationPackageReference

_STORAGE_ACCOUNT = lazy_regex("[a-z0-9]{3,24}")


class PoolAllocationMode(WireOption):
    """The owner of the pools' virtual machines (ACC-2)."""

    BATCH_SERVICE = "BatchService"
    USER_SUBSCRIPTION = "UserSubscription"


class CertificateFormat(WireOption):
    """The format of a certificate (CERT-1)."""

    PFX = "pfx"
    CER = "cer"


Count = Annotated[Int, Field(ge=0)]


class Quotas(Spec):
    """The quotas of the account. Without values per VM series only the total of dedicated cores counts (ACC-4)."""

    dedicated_cores: Count = 100
    low_priority_cores: Count = 100
    pools: Count = 100
    active_jobs_and_schedules: Count = 300
    dedicated_cores_per_vm_series: dict[str, Count] | None = None


_SEPARATORS = str.maketrans("", "", " _-")


def series_key(name: str) -> str:
    """Return one spelling for ``DSv3`` and ``standardDSv3Family``: quota page, resource provider and VM size differ."""
    key = name.lower().translate(_SEPARATORS)
    return key.removeprefix("standard").removesuffix("family")


class Application(Identified):
    """An application and its packages, one for each version (APP-1).

    ``size`` is the bytes of each package; ``sizes`` are those of single versions, and win.
    """

    display_name: Text | None = None
    versions: tuple[Text, ...] = ()
    default_version: Text | None = None
    allow_updates: Bool = True
    size: Size | None = None
    sizes: dict[Text, Size] | None = None

    @field_validator("default_version")
    @classmethod
    def _is_a_version(cls, version: str | None, info: ValidationInfo) -> str | None:
        versions = info.data.get("versions")
        if version is not None and versions is not None and version not in versions:
            raise ValueError(f"{quoted(version)} is none of the versions {first_of(versions) or '(there are none)'}")
        return version

    @field_validator("sizes")
    @classmethod
    def _are_of_versions(cls, sizes: dict[str, int] | None, info: ValidationInfo) -> dict[str, int] | None:
        for version in sizes or ():
            cls._is_a_version(version, info)
        return sizes

    def spelling_of(self, version: str) -> str | None:
        """Return the version as the application has it, compared without regard to case; None if it has none."""
        return next((known for known in self.versions if known.lower() == version.lower()), None)


class Package(NamedTuple):
    """One version of an application (APP-1)."""

    application: Application
    version: str

    @property
    def size(self) -> int:
        """Bytes; 0 if not given."""
        sizes = self.application.sizes or {}
        return sizes.get(self.version, self.application.size or 0)


class Certificate(Occasional):
    """A certificate of the account (CERT-1)."""

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = (
        "url",
        "state",
        "stateTransitionTime",
        "previousState",
        "previousStateTransitionTime",
        "publicData",
        "deleteCertificateError",
    )

    thumbprint: Text
    thumbprint_algorithm: Text = "sha1"
    certificate_format: CertificateFormat | None = None
    data: Secret | None = None
    password: Secret | None = None

    @property
    def form(self) -> str:
        """The extension of its file; ``pfx`` is the default."""
        return (self.certificate_format or CertificateFormat.PFX).value


class Account(Spec):
    """The Batch account; ``storage_account`` is the name of the storage account that is linked to it (ACC-3).

    Without ``subscription_id`` the account is in the subscription of every virtual network (NET-2).
    """

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = ("accountEndpoint",)

    name: Text = "batchdeck"
    location: Text = "westeurope"
    subscription_id: Text | None = None
    storage_account: Text | None = None
    pool_allocation_mode: PoolAllocationMode = PoolAllocationMode.BATCH_SERVICE
    quotas: Quotas = Quotas()
    applications: tuple[Application, ...] = ()
    certificates: tuple[Certificate, ...] = ()

    def application(self, application_id: str) -> Application | None:
        """Return the application of this id, in any case (GEN-1); None if there is none."""
        wanted = application_id.lower()
        return next((each for each in self.applications if each.id.lower() == wanted), None)

    @field_validator("storage_account")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        if name is not None and not _STORAGE_ACCOUNT.fullmatch(name):
            raise ValueError(
                f"{quoted(name)} is no name of a storage account: use 3 to 24 lower-case letters and digits"
            )
        return name

    def container_url(self, name: str) -> str:
        """Return the URL of a container of the linked storage account; only the name without one (ACC-3)."""
        if self.storage_account is None:
            return name
        return f"https://{self.storage_account}.blob.core.windows.net/{name}"

    def package_verdict(self, reference: ApplicationPackageReference) -> Package | str:
        """Return the package that a reference means, or the reason why there is none (APP-3).

        Without a version the default one is meant. Application ids are compared without regard to case (GEN-1).
        """
        wanted, version = reference.application_id.lower(), reference.version
        application = self.application(wanted)
        if application is None:
            near = get_close_matches(wanted, [each.id.lower() for each in self.applications], n=1)
            hint = f"; did you mean {quoted(near[0])}?" if near else ""
            return f"the account has no application {quoted(reference.application_id)}{hint}"
        if version is None and application.default_version is None:
            return f"{shortened(application.id)} has no default version, so one has to be named"
        if version is not None and version not in application.versions:
            known = first_of(application.versions) or "none"
            return f"{shortened(application.id)} has no version {quoted(version)}; it has {known}"
        return Package(application, version or application.default_version or "")
