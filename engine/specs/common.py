"""Parts of several bodies: files, environment, users, containers and packages."""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from engine.base.terms import WireOption
from engine.specs.base import AnyCase, Bool, Occasional, Secret, Spec, Text
from engine.specs.simulate import OptionalSimulate

# Options that have no effect on a simulation (CONT-1, CERT-1).
ContainerHostDataPath = Annotated[Literal["Shared", "Startup", "VfsMounts", "Task", "JobPrep", "Applications"], AnyCase]
CertificateStoreLocation = Annotated[Literal["currentuser", "localmachine"], AnyCase]


class AutoUserScope(WireOption):
    """The scope of an auto user (USER-1)."""

    TASK = "task"
    POOL = "pool"


class ElevationLevel(WireOption):
    """The elevation level of a user (USER-1)."""

    NON_ADMIN = "nonadmin"
    ADMIN = "admin"


class OutputFileUploadCondition(WireOption):
    """The outcome after which output files are uploaded (TASK-8)."""

    TASK_SUCCESS = "tasksuccess"
    TASK_FAILURE = "taskfailure"
    TASK_COMPLETION = "taskcompletion"


class ContainerWorkingDirectory(WireOption):
    """The working directory of a container (CONT-1)."""

    TASK_WORKING_DIRECTORY = "taskWorkingDirectory"
    CONTAINER_IMAGE_DEFAULT = "containerImageDefault"


class CertificateVisibility(WireOption):
    """The processes that can read a certificate (CERT-1)."""

    START_TASK = "starttask"
    TASK = "task"
    REMOTE_USER = "remoteuser"


class NameValue(Spec):
    """A name and a text."""

    name: Text
    value: Text = ""


class EnvironmentSetting(NameValue):
    """An environment variable (JOB-4, ENV-1)."""


class OutputFileUploadHeader(NameValue):
    """An HTTP header of an upload."""


class MetadataItem(Occasional):
    """A metadata item (GEN-9)."""

    name: Text
    value: Text


class IdentityReference(Occasional):
    """A user-assigned managed identity."""

    resource_id: Text | None = None


class ResourceFile(Occasional):
    """A file to download into the working directory before the command starts (TASK-6)."""

    auto_storage_container_name: Text | None = None
    storage_container_url: Text | None = None
    http_url: Text | None = Field(default=None, validation_alias=AliasChoices("httpUrl", "blobSource"))
    blob_prefix: Text | None = None
    file_path: Text | None = None
    file_mode: Text | None = None
    identity_reference: IdentityReference | None = None


class OutputFileBlobContainerDestination(Occasional):
    """The container that receives output files."""

    container_url: Text
    path: Text | None = None
    identity_reference: IdentityReference | None = None
    upload_headers: tuple[OutputFileUploadHeader, ...] = ()


class OutputFileDestination(Occasional):
    """The destination of output files."""

    container: OutputFileBlobContainerDestination


class OutputFileUploadOptions(Spec):
    """The condition of an upload."""

    upload_condition: OutputFileUploadCondition = OutputFileUploadCondition.TASK_COMPLETION


class OutputFile(Occasional):
    """A file to upload from the node after the command has ended (TASK-8)."""

    file_pattern: Text
    destination: OutputFileDestination
    upload_options: OutputFileUploadOptions = OutputFileUploadOptions()


class AutoUser(Spec):
    """A user that Batch creates. The service answers scope ``pool`` as the default (USER-1)."""

    scope: AutoUserScope = AutoUserScope.POOL
    elevation_level: ElevationLevel = ElevationLevel.NON_ADMIN


class UserIdentity(Spec):
    """The user that runs a command: a user account of the pool or an auto user (USER-1)."""

    username: Text | None = None
    auto_user: AutoUser | None = None


class ContainerRegistry(Occasional):
    """A registry of container images."""

    registry_server: Text | None = None
    username: Text | None = None
    password: Secret | None = None
    identity_reference: IdentityReference | None = None


class ContainerHostBatchBindMount(Occasional):
    """A directory of the node inside a container."""

    source: ContainerHostDataPath | None = None
    is_read_only: Bool = False


class ContainerSettings(Occasional):
    """The container in which a command runs (CONT-1)."""

    image_name: Text
    container_run_options: Text | None = None
    registry: ContainerRegistry | None = None
    working_directory: ContainerWorkingDirectory = ContainerWorkingDirectory.TASK_WORKING_DIRECTORY
    container_host_batch_bind_mounts: tuple[ContainerHostBatchBindMount, ...] = ()


class ApplicationPackageReference(Occasional):
    """An application to install, by default in its default version (APP-2, APP-3)."""

    application_id: Text
    version: Text | None = None


class CertificateReference(Occasional):
    """A certificate of the account to install on the nodes (CERT-1)."""

    thumbprint: Text
    thumbprint_algorithm: Text = "sha1"
    store_location: CertificateStoreLocation = "currentuser"
    store_name: Text = "My"
    visibility: tuple[CertificateVisibility, ...] = tuple(CertificateVisibility)


class AuthenticationTokenSettings(Occasional):
    """The permissions of a task's authentication token; the only one is ``job`` (TASK-2)."""

    access: tuple[Text, ...] = ()


class CommandLine(Spec):
    """Base of all bodies with a command line: files, environment, user, container, and ``simulate``."""

    # Replaced by ``userIdentity``, so it is not a property of its own (GEN-14).
    OLDER_NAMES: ClassVar[tuple[str, ...]] = ("runElevated",)

    command_line: Text
    container_settings: ContainerSettings | None = None
    resource_files: tuple[ResourceFile, ...] = ()
    environment_settings: tuple[EnvironmentSetting, ...] = ()
    user_identity: UserIdentity = UserIdentity(auto_user=AutoUser())
    simulate: OptionalSimulate = None

    @model_validator(mode="before")
    @classmethod
    def _run_elevated(cls, body: object) -> object:
        """Translate ``runElevated``; beside ``userIdentity`` it stays and is reported as unknown."""
        if not isinstance(body, dict) or "runElevated" not in body or body.get("userIdentity") is not None:
            return body
        body = dict(body)
        elevated = body.pop("runElevated")
        if elevated is None:
            return body
        if not isinstance(elevated, bool):
            error = InitErrorDetails(type="bool_type", loc=("runElevated",), input=elevated)
            raise ValidationError.from_exception_data(cls.__name__, [error])
        level = ElevationLevel.ADMIN if elevated else ElevationLevel.NON_ADMIN
        return body | {"userIdentity": {"autoUser": {"elevationLevel": level}}}
