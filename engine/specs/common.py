"""Parts of several bodies: files, environment, users, containers, and the ``simulate`` of a command line.

The ``simulate`` settings of nodes, Spot nodes, samples of autoscale and the REST endpoint are here too.
"""

from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AliasChoices,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    WrapSerializer,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from engine.base.errors import FAILURE_CODES, FailureInfo, failure
from engine.base.terms import NodeProfile, WireOption
from engine.base.values import SECOND_MS, format_duration, quoted
from engine.specs.base import (
    LEFT_OUT_OF_ANSWERS,
    AnyCase,
    Bool,
    ContainerRegistry,
    Distribution,
    IdentityReference,
    Number,
    Occasional,
    Size,
    Spec,
    Text,
    Time,
    parse_number,
    parse_size,
    parse_time,
    wire_name,
)
from engine.specs.conditions import ActList, Unread, Until

EVICTION_NOTICE_MS = 30 * SECOND_MS  # TIME-12, unless the scenario says otherwise

ExitCodes = tuple[tuple[int, float], ...]


def _parse_code(value: object) -> int:
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return int(value)
    if type(value) is int:
        return value
    raise ValueError(f"an exit code must be a whole number, not {quoted(value)}")


def _parse_exit_code(value: object) -> int | ExitCodes | None:
    if value is None or type(value) is int:
        return value
    if isinstance(value, tuple):
        value = dict(value)
    if not isinstance(value, dict):
        raise ValueError(
            f"must be an exit code or weights of exit codes such as {{0: 0.97, 1: 0.03}}, not {quoted(value)}"
        )
    weights = tuple((_parse_code(code), float(parse_number(weight, "a weight"))) for code, weight in value.items())
    if not any(weight for _, weight in weights):
        raise ValueError("at least one exit code must have a weight above zero")
    return weights


def _write_exit_code(value: int | ExitCodes | None) -> int | dict[str, float] | None:
    return {str(code): weight for code, weight in value} if isinstance(value, tuple) else value


ExitCode = Annotated[
    int | ExitCodes | None,
    PlainValidator(_parse_exit_code),
    PlainSerializer(_write_exit_code),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}]}
    ),
]
Percent = Annotated[Number, Field(ge=0, le=100)]


class _Rates(Spec):
    """Bytes a second in two directions. A plain size such as 20 MB, or 20 MB/s, is that many in each."""

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, given: object) -> object:
        rates = given if isinstance(given, dict) else dict.fromkeys(map(wire_name, cls.model_fields), given)
        rates = {name: rate.removesuffix("/s") if isinstance(rate, str) else rate for name, rate in rates.items()}
        return rates if isinstance(given, dict) else {name: parse_size(rate) for name, rate in rates.items()}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"type": ["string", "integer"]}], "title": cls.__name__}


class DiskRates(_Rates):
    """The bytes that a process reads from the disk and writes to it in a second (AS-41)."""

    read: Size = 0
    write: Size = 0


class NetworkRates(_Rates):
    """The bytes that a process receives and sends in a second (AS-41)."""

    in_: Size = 0
    out: Size = 0


class Failing(Occasional):
    """A failure of the service in place of a program, or after it where its outputs cannot be uploaded (ERR-T)."""

    code: Text
    values: dict[Text, Text] = Field(default_factory=dict)

    @field_validator("code")
    @classmethod
    def _is_known(cls, code: str) -> str:
        if code not in FAILURE_CODES:
            near = "".join(f": did you mean {each!r}?" for each in get_close_matches(code, sorted(FAILURE_CODES), n=1))
            raise ValueError(f"{quoted(code)} is no code of a task's failure{near}")
        return code

    @property
    def failure(self) -> FailureInfo:
        """The failure as tasks have it."""
        return failure(self.code, *self.values.items())

    @property
    def is_of_upload(self) -> bool:
        """True if the program has run, and only its outputs are not where they were to go."""
        return self.code.startswith("FileUpload")


class Simulate(Spec):
    """The simulated outcome of one command line; what is absent is left to the defaults."""

    duration: Distribution | None = Field(default=None, description="How long it runs: a time or a distribution.")
    until: Until = Field(
        default=None, description="What ends the process, in place of a duration; its own job where none is named."
    )
    does: ActList = Field(default=None, description="Commands that the process gives while it runs.")
    exit_code: ExitCode = Field(default=None, description="An exit code, or weights by exit code.")
    stdout: Text | None = Field(default=None, description="What it writes to stdout.txt.")
    stderr: Text | None = Field(default=None, description="What it writes to stderr.txt.")
    attempts: tuple["Simulate", ...] = Field(
        default=(), description="What differs in the first attempt, the second, and so on."
    )
    on_node: dict[Annotated[int, Field(ge=0)], "Simulate"] = Field(
        default_factory=dict, description="What differs on a node, by its number in the pool, from 0."
    )
    cpu: Percent | None = Field(default=None, description="The share of the node's processors, in percent.")
    memory: Percent | None = Field(default=None, description="The share of the node's memory, in percent.")
    disk: DiskRates | None = Field(default=None, description="Bytes a second that it reads and writes.")
    network: NetworkRates | None = Field(default=None, description="Bytes a second that it receives and sends.")
    found: Bool | None = Field(default=None, description="False: the node does not have the program.")
    fails: Failing | None = Field(default=None, description="Why it never runs, or why its outputs are not uploaded.")
    writes: dict[Text, Size] = Field(
        default_factory=dict, description="The files that it leaves: their sizes by path from its working directory."
    )

    @field_validator("until")
    @classmethod
    def _ends_in_one_way(cls, until: Unread | None, info: ValidationInfo) -> Unread | None:
        if until is not None and info.data.get("duration") is not None:
            raise ValueError("a process ends after its 'duration' or by 'until': give one of them")
        return until

    def overridden_by(self, over: Self) -> Self:
        """Return these values with those that ``over`` gives in their place; of duration and until it has one."""
        given = {name: value for name, value in over.given_values().items() if value is not None}
        other = {"until": "duration", "duration": "until"}
        ends = {other[name]: None for name in given if name in other}
        return self.model_copy(update=ends | given)


MOST_RATE = 3600  # once a second

Rate = Annotated[Number, Field(ge=0, le=MOST_RATE)]
"""A number of events per node and hour (NODE-18, SPOT-10)."""


_PROFILE = "The durations that are not given one by one: as recorded today, in all years, or on a bad day."


class NodeSteps(Occasional):
    """The durations of steps in a node's life (TIME-2 to TIME-7); what is absent is left to the defaults."""

    allocation: Distribution | None = None
    starting: Distribution | None = None
    ready: Distribution | None = None
    reboot: Distribution | None = None
    reimage: Distribution | None = None
    removal: Distribution | None = None


class SimulateNodes(NodeSteps):
    """The durations of steps in the life of all nodes, and how often nodes fail (NODE-18).

    ``profile`` names the set of durations that counts where none is given (TIME-2).
    """

    profile: NodeProfile = Field(default=NodeProfile.TYPICAL, description=_PROFILE)
    failure_rate: Rate = 0


class SimulatePool(NodeSteps):
    """The durations of steps in the life of one pool's nodes; ``on_node`` has those of a node by its index."""

    profile: NodeProfile | None = Field(default=None, description=_PROFILE)
    on_node: dict[Annotated[int, Field(ge=0)], NodeSteps] = Field(default_factory=dict)

    def duration(self, step: str, node: str | int) -> Distribution | None:
        """Return how long a step of a node takes, None if nothing is said of it."""
        own = self.own_duration(step, node) if isinstance(node, int) else None
        found: Distribution | None = own if own is not None else getattr(self, step, None)
        return found

    def own_duration(self, step: str, node: int) -> Distribution | None:
        """Return how long a step of this node takes, None if nothing is said of it alone."""
        found: Distribution | None = getattr(self.on_node.get(node), step, None)
        return found


class SimulateSpot(Occasional):
    """The rate at which VMs of Spot nodes are taken back (SPOT-10), and how long before it is announced (SPOT-7)."""

    eviction_rate: Rate = 0
    notice: Time = EVICTION_NOTICE_MS


MOST_REQUESTS = 1_000_000  # a second


class SimulateService(Occasional):
    """Failures of the REST endpoint, for its clients; a run without clients does not depend on them (GEN-22).

    ``error_rate`` is the share of requests that fail with 500, ``throttle`` the number of requests a second beyond
    which they are refused with 503, ``latency`` how long clients wait for an answer. Seconds are those of the clients.
    """

    error_rate: Annotated[Number, Field(ge=0, le=1)] = 0
    latency: Distribution | None = None
    throttle: Annotated[Number, Field(gt=0, le=MOST_REQUESTS)] | None = None


_LATEST_SAMPLE_MS = 60 * SECOND_MS  # AS-54


def _parse_delay(value: object) -> int:
    ms = parse_time(value)
    if ms > _LATEST_SAMPLE_MS:
        raise ValueError(f"samples are at most {format_duration(_LATEST_SAMPLE_MS)} late, not {quoted(value)}")
    return ms


Delay = Annotated[int, PlainValidator(_parse_delay), WithJsonSchema({"type": ["string", "number"]})]


class SimulateAutoScale(Occasional):
    """The delay and loss of the samples that reach autoscale formulas (AS-54)."""

    sample_delay: Delay = 0
    sample_loss_probability: Annotated[Number, Field(ge=0, le=1)] = 0


def _when_written(
    value: Spec | None, serialize: SerializerFunctionWrapHandler, info: SerializationInfo
) -> dict[str, Any] | None:
    written: dict[str, Any] | None = serialize(value) if info.exclude_unset else None
    return written


# Beside a command line; not part of the service's body.
OptionalSimulate = Annotated[Simulate | None, WrapSerializer(_when_written)]
# Beside the settings of a pool; not part of the service's body either.
OptionalExecute = Annotated[Bool | None, LEFT_OUT_OF_ANSWERS]

OptionalSimulatePool = Annotated[SimulatePool | None, WrapSerializer(_when_written)]


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


class EnvironmentSetting(NameValue, defer_build=False):  # three bodies of most scenarios contain it
    """An environment variable (JOB-4, ENV-1)."""


class OutputFileUploadHeader(NameValue):
    """An HTTP header of an upload."""


class MetadataItem(Occasional):
    """A metadata item (GEN-9)."""

    name: Text
    value: Text


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
    upload_options: OutputFileUploadOptions = OutputFileUploadOptions.model_construct()


class AutoUser(Spec):
    """A user that Batch creates. The service answers scope ``pool`` as the default (USER-1)."""

    scope: AutoUserScope = AutoUserScope.POOL
    elevation_level: ElevationLevel = ElevationLevel.NON_ADMIN


class UserIdentity(Spec):
    """The user that runs a command: a user account of the pool or an auto user (USER-1)."""

    username: Text | None = None
    auto_user: AutoUser | None = None


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


IMAGE_PROGRAM = "entrypoint"
"""Stands for the program of a container's image, of which nothing is known but its name."""


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
    execute: OptionalExecute = None

    @property
    def line_to_run(self) -> str:
        """The line that is run: where a container's is empty, the program that its image names (CONT-1)."""
        return self.command_line or (IMAGE_PROGRAM if self.container_settings is not None else "")

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
