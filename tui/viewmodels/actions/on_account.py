"""The actions on the account: everything that can be created, its certificates, applications and quotas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.terms import CertificateState
from engine.views.pages.account import AccountPage, CoreQuotas
from tui.viewmodels.actions import documents
from tui.viewmodels.actions.action import LASTING, ActionType, Document
from tui.viewmodels.actions.fields import AnyField, Field, one_of, whole, yes_no_options, yes_or_no
from tui.viewmodels.actions.job_fields import JOB_FIELDS
from tui.viewmodels.actions.pool_fields import POOL_FIELDS
from tui.viewmodels.actions.schedule_fields import SCHEDULE_FIELDS

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session


_UNDELETED = (CertificateState.DELETE_FAILED,)


class AccountTarget(NamedTuple):
    """The account: its page, and its quotas of cores."""

    page: AccountPage
    cores: CoreQuotas


def _thumbprints(session: Session) -> Sequence[str]:
    return [each.thumbprint for each in session.account().certificates]


def _undeletable(session: Session) -> Sequence[str]:
    return [each.thumbprint for each in session.account().certificates if each.state in _UNDELETED]


def _applications(session: Session) -> Sequence[str]:
    return [application.id for application in session.account().applications]


def _first_application(account: AccountTarget) -> str:
    return next((application.id for application in account.page.applications), "")


def _first_version(account: AccountTarget) -> str:
    return next((version for each in account.page.applications for version in each.versions), "")


def _versions(account: AccountTarget) -> Sequence[str]:
    return [f"{each.id} has {', '.join(each.versions) or 'no version'}" for each in account.page.applications]


def _without_applications(account: AccountTarget) -> str:
    return "" if account.page.applications else "the account has no applications"


def _without_certificates(account: AccountTarget) -> str:
    return "" if account.page.certificates else "the account has no certificates"


def _without_failed_deletion(account: AccountTarget) -> str:
    has_failed = any(each.state in _UNDELETED for each in account.page.certificates)
    return "" if has_failed else "no deletion of a certificate has failed"


def _next_thumbprint(account: AccountTarget) -> str:
    """Return a thumbprint that no certificate has: forty hexadecimal digits."""
    return f"{len(account.page.certificates) + 1:040x}"


def _creation(
    name: str, command: str, fields: Sequence[AnyField], new: Callable[[Session], Document], effect: str
) -> ActionType[Any]:
    """Return the action that creates something in the account, whatever is under the cursor."""
    return ActionType(
        f"Create a {name}",
        command,
        fields=tuple(fields),
        document=lambda _row, session: new(session),
        effects=lambda _: (effect,),
        body=lambda _: {},
    )


_APPLICATION = Field(
    "applicationId", "Application", "of the account", _first_application, options=_applications, is_required=True
)

CREATE_POOL = _creation(
    "pool",
    "createPool",
    POOL_FIELDS,
    documents.new_pool,
    "its nodes are allocated, boot and run the start task (POOL-2)",
)
CREATE_JOB = _creation(
    "job",
    "createJob",
    JOB_FIELDS,
    documents.new_job,
    "a preparation task runs on a node before the job's first task there (PREP-1)",
)
CREATE_SCHEDULE = _creation(
    "job schedule", "createJobSchedule", SCHEDULE_FIELDS, documents.new_schedule, "each occurrence creates a job (JS-1)"
)

ACCOUNT: tuple[ActionType[AccountTarget], ...] = (
    CREATE_POOL,
    CREATE_JOB,
    CREATE_SCHEDULE,
    ActionType(
        "Add a certificate",
        "addCertificate",
        fields=(
            Field("thumbprint", "Thumbprint", "forty hexadecimal digits", is_required=True),
            Field(
                "certificateFormat", "Format", "pfx has a private key, cer has none", options=one_of("", "pfx", "cer")
            ),
            Field("data", "Data", "Base64; not used by the simulation"),
            Field("password", "Password", "of a pfx; not used by the simulation"),
        ),
        document=lambda account, _: Document({"thumbprint": _next_thumbprint(account), "thumbprintAlgorithm": "sha1"}),
        effects=lambda _: ("pools may refer to it from now on (CERT-1)",),
        body=lambda _: {},
    ),
    ActionType(
        "Delete a certificate",
        "deleteCertificate",
        fields=(
            Field(
                "thumbprint",
                "Thumbprint",
                "of a certificate of the account",
                lambda account: next((each.thumbprint for each in account.page.certificates), ""),
                options=_thumbprints,
                is_required=True,
            ),
        ),
        effects=lambda _: ("the deletion fails while a pool or node uses it (CERT-4)",),
        unavailable=_without_certificates,
        cannot_be_undone=True,
        body=lambda _: {},
    ),
    ActionType(
        "Cancel the failed deletion of a certificate",
        "cancelCertificateDeletion",
        fields=(
            Field(
                "thumbprint",
                "Thumbprint",
                "of a certificate whose deletion has failed",
                lambda account: next(
                    (each.thumbprint for each in account.page.certificates if each.state in _UNDELETED), ""
                ),
                options=_undeletable,
                is_required=True,
            ),
        ),
        effects=lambda _: ("it is active again (CERT-4)",),
        unavailable=_without_failed_deletion,
        body=lambda _: {},
    ),
    ActionType(
        "Upload an application package",
        "createApplicationPackage",
        fields=(
            Field(
                "applicationId",
                "Application",
                "a new one is made with its first package",
                lambda account: _first_application(account) or "tools",
                is_required=True,
            ),
            Field("version", "Version", "an upload of a known version replaces it", lambda _: "1.0", is_required=True),
            Field("size", "Size", "such as 800 MB; what is known of it if empty"),
        ),
        effects=lambda account: ("nodes that boot from now on get it (APP-8)", *_versions(account)),
        body=lambda _: {},
    ),
    ActionType(
        "Change an application",
        "updateApplication",
        fields=(
            _APPLICATION,
            Field("displayName", "Display name", "unchanged if empty"),
            Field("defaultVersion", "Default version", "taken where none is named; unchanged if empty"),
            Field(
                "allowUpdates",
                "Allow updates",
                "no: packages may not be replaced or deleted",
                read=yes_or_no,
                options=yes_no_options,
            ),
        ),
        effects=_versions,
        unavailable=_without_applications,
        body=lambda _: {},
    ),
    ActionType(
        "Delete an application package",
        "deleteApplicationPackage",
        fields=(
            _APPLICATION,
            Field("version", "Version", "of that application", _first_version, is_required=True),
        ),
        effects=lambda account: ("what is installed stays on the nodes (APP-9)", *_versions(account)),
        unavailable=_without_applications,
        cannot_be_undone=True,
        body=lambda _: {},
    ),
    ActionType(
        "Fault: the account gets other quotas",
        "quota",
        fields=(
            Field("dedicatedCores", "Dedicated cores", "allowed", lambda one: str(one.cores.dedicated), whole),
            Field("lowPriorityCores", "Spot cores", "allowed", lambda one: str(one.cores.spot), whole),
            Field("pools", "Pools", "allowed; unchanged if empty", read=whole),
            Field("activeJobsAndSchedules", "Jobs and schedules", "active at once; unchanged if empty", read=whole),
        ),
        effects=lambda account: (
            f"{account.cores.dedicated_used:,} dedicated and {account.cores.spot_used:,} Spot cores are in use",
            "what is used stays; later requests get at most that many (ACC-11)",
        ),
        body=lambda _: {},
    ),
    ActionType(
        "Fault: the region runs out of a node size",
        "capacity",
        fields=(
            Field("vmSize", "VM size", "such as standard_d2s_v3", lambda _: "standard_d2s_v3", is_required=True),
            Field("nodes", "Nodes", "nodes of this size still available", lambda _: "0", whole, is_required=True),
        ),
        effects=lambda _: ("later requests get at most that many (RSZ-12); in the simulation only",),
        body=lambda _: {},
    ),
    ActionType(
        "Fault: storage outage",
        "storageOutage",
        LASTING,
        body=lambda _: {},
        effects=lambda _: ("downloads and uploads wait or fail; in the simulation only",),
    ),
)
