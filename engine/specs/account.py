"""The account of a scenario: name, quotas, applications, certificates (ACC-1 to ACC-5)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from engine.specs.base import Bool, Identified, Int, Secret, Size, Spec, Text
from engine.terms import Option


class PoolAllocationMode(Option):
    """ACC-2."""

    BATCH_SERVICE = "BatchService"
    USER_SUBSCRIPTION = "UserSubscription"


class CertificateFormat(Option):
    """CERT-1."""

    PFX = "pfx"
    CER = "cer"


Count = Annotated[Int, Field(ge=0)]


class Quotas(Spec):
    """ACC-4. Without values for VM series only the total of dedicated cores counts."""

    dedicated_cores: Count = 100
    low_priority_cores: Count = 100
    pools: Count = 100
    active_jobs_and_schedules: Count = 300
    dedicated_cores_per_vm_series: dict[str, Count] | None = None


class Application(Identified):
    """An application and its packages (APP-1); ``size`` is bytes of each package."""

    display_name: Text | None = None
    versions: tuple[Text, ...] = ()
    default_version: Text | None = None
    allow_updates: Bool = True
    size: Size | None = None

    @field_validator("default_version")
    @classmethod
    def _is_a_version(cls, version: str | None, info: ValidationInfo) -> str | None:
        versions = info.data.get("versions")
        if version is not None and versions is not None and version not in versions:
            raise ValueError(f"{version!r} is none of the versions {', '.join(versions) or '(there are none)'}")
        return version


class Certificate(Spec):
    """A certificate of the account (CERT-1)."""

    thumbprint: Text
    thumbprint_algorithm: Text = "sha1"
    certificate_format: CertificateFormat | None = None
    data: Secret | None = None
    password: Secret | None = None


class Account(Spec):
    """The Batch account that everything belongs to."""

    name: Text = "batchdeck"
    location: Text = "westeurope"
    pool_allocation_mode: PoolAllocationMode = PoolAllocationMode.BATCH_SERVICE
    quotas: Quotas = Quotas()
    applications: tuple[Application, ...] = ()
    certificates: tuple[Certificate, ...] = ()
