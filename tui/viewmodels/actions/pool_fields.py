"""The fields for the usual properties of pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.base.terms import OsFamily
from engine.specs.catalogue import vm_size
from tui.viewmodels.actions.fields import (
    DISPLAY_NAME,
    DURATION,
    ID,
    AnyField,
    Body,
    Field,
    duration,
    duration_or_value,
    one_of,
    packages,
    thumbprints,
    whole,
    yes_no_options,
    yes_or_no,
)
from tui.viewmodels.text import format as fmt


def about_size(name: str) -> str:
    """Return what a VM size has and costs; empty for a name that is no size."""
    size = vm_size(name.strip())
    if size is None:
        return ""
    usd = size.price_usd(OsFamily.LINUX, dedicated=True)
    price = f", {fmt.dollars(usd)} an hour with Linux" if usd else ""
    return f"{size.cores} core{'s' if size.cores != 1 else ''}, {size.memory_gib:g} GiB{price}"


_UBUNTU_22 = "Ubuntu 22.04"
_IMAGES: dict[str, dict[str, Any]] = {
    "Ubuntu 24.04": {
        "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
    },
    "Windows Server 2022": {
        "imageReference": {
            "publisher": "MicrosoftWindowsServer",
            "offer": "WindowsServer",
            "sku": "2022-datacenter",
        },
        "nodeAgentSKUId": "batch.node.windows amd64",
    },
}
_CLOUD_SERVICES = {f"cloud service, family {family}": family for family in ("6", "5")}
_OTHER = "as in the body"


@dataclass(frozen=True)
class ImageField(Field[Any]):
    """The operating system of a pool's nodes: a few common ones; any other is written in the body."""

    def text_in(self, body: Body) -> str:
        """Return the name of the image, or that the body has another one."""
        machine, cloud = body.get("virtualMachineConfiguration"), body.get("cloudServiceConfiguration")
        if machine is None and cloud is None:
            return _UBUNTU_22
        if isinstance(cloud, Mapping):
            family = cloud.get("osFamily")
            return next((text for text, each in _CLOUD_SERVICES.items() if each == family and len(cloud) == 1), _OTHER)
        return next((text for text, each in _IMAGES.items() if each == machine), _OTHER)

    def put_into(self, body: Body, text: str) -> dict[str, Any]:
        """Return the body with the configuration of this image."""
        if text == _OTHER:
            return dict(body)
        changed = {name: value for name, value in body.items() if name != "virtualMachineConfiguration"}
        changed.pop("cloudServiceConfiguration", None)
        if text in _CLOUD_SERVICES:
            return changed | {"cloudServiceConfiguration": {"osFamily": _CLOUD_SERVICES[text]}}
        return changed | ({"virtualMachineConfiguration": _IMAGES[text]} if text in _IMAGES else {})


@dataclass(frozen=True)
class FormulaField(Field[Any]):
    """The autoscale formula of a pool, which takes the place of the targets."""

    def put_into(self, body: Body, text: str) -> dict[str, Any]:
        """Return the body with the formula and without targets, or without autoscale."""
        if not text.strip():
            names = ("enableAutoScale", "autoScaleFormula", "autoScaleEvaluationInterval")
            return {name: value for name, value in body.items() if name not in names}
        targets = ("targetDedicatedNodes", "targetLowPriorityNodes")
        kept = {name: value for name, value in body.items() if name not in targets}
        return kept | {"enableAutoScale": True, "autoScaleFormula": text}


_SLOTS = Field[Any]("taskSlotsPerNode", "Task slots per node", "1 if empty; so many tasks run at once", read=whole)
_FILL = Field[Any](
    "taskSchedulingPolicy.nodeFillType",
    "Node fill type",
    "spread: the emptiest node gets the next task; pack: the fullest one",
    options=one_of("", "spread", "pack"),
)
_START = (
    Field[Any]("startTask.commandLine", "Command line", "runs at each start of a node", section="Start task"),
    Field[Any]("startTask.simulate.duration", "Runs for", f"{DURATION}; in the simulation", read=duration_or_value),
    Field[Any](
        "startTask.waitForSuccess",
        "Wait for success",
        "yes if empty: no task starts on a node before it has succeeded",
        read=yes_or_no,
        options=yes_no_options,
    ),
)
_PACKAGES = Field[Any](
    "applicationPackageReferences", "Packages", "such as: pricer 1.2, tools; installed on each node", read=packages
)
_CERTIFICATES = Field[Any](
    "certificateReferences", "Certificates", "their thumbprints; of certificates of the account", read=thumbprints
)

POOL_FIELDS: tuple[AnyField, ...] = (
    ID,
    Field("vmSize", "VM size", "such as standard_d2s_v3", is_required=True, about=about_size),
    ImageField(
        "virtualMachineConfiguration",
        "Image",
        "the operating system of the nodes; others in the body",
        options=one_of(_UBUNTU_22, *_IMAGES, *_CLOUD_SERVICES),
    ),
    Field("targetDedicatedNodes", "Dedicated nodes", "how many to have", read=whole, section="Scale"),
    Field("targetLowPriorityNodes", "Spot nodes", "how many to have; cheaper, may be preempted", read=whole),
    FormulaField("autoScaleFormula", "Autoscale formula", "instead of numbers; such as $TargetDedicatedNodes = 4;"),
    Field("resizeTimeout", "Resize timeout", f"PT15M if empty; at least PT5M; {DURATION}", read=duration),
    replace(_SLOTS, section="Tasks on its nodes"),
    _FILL,
    Field(
        "enableInterNodeCommunication",
        "Nodes communicate",
        "yes: for multi-instance tasks",
        read=yes_or_no,
        options=yes_no_options,
    ),
    *_START,
    replace(_PACKAGES, section="More"),
    _CERTIFICATES,
    DISPLAY_NAME,
)

_WITHOUT_NODES = "only while it has no nodes"
POOL_CHANGES: tuple[AnyField, ...] = (
    *_START,
    replace(_PACKAGES, section="Installed"),
    _CERTIFICATES,
    replace(DISPLAY_NAME, hint=_WITHOUT_NODES, section="While it has no nodes"),
    replace(_SLOTS, hint=f"{_WITHOUT_NODES}; so many tasks run at once"),
    replace(_FILL, hint=f"{_WITHOUT_NODES}; {_FILL.hint}"),
    Field(
        "targetNodeCommunicationMode",
        "Communication mode",
        f"{_WITHOUT_NODES}; how nodes and the service talk",
        options=one_of("", "default", "classic", "simplified"),
    ),
)

POOL_PROPERTIES: tuple[AnyField, ...] = (
    *_START,
    replace(_PACKAGES, section="More"),
    _CERTIFICATES,
)
