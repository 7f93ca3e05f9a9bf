"""Bodies in another form than the one that creates the object: as a resource, or as the service returns them.

They are put into that form before they are read. What only the service writes is left out, with one warning for each
body; so are the lists of nodes and statuses that only the state document of a run adds (GEN-21). A pool as the resource
manager has it, in templates, in Bicep and on the portal (GEN-20), is put into the form of the data plane, and every
part of it keeps its place in the document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from engine.base.terms import Deallocation, Plain
from engine.base.values import lazy_regex, read_table
from engine.scenario.bodies import (
    PRINTED_BY_AZ,
    RESOURCE_NAMES,
    Parts,
    Style,
    fields_of,
    put_spelled,
    spelled,
    unquoted,
    wire_spelled,
)
from engine.scenario.document import DocumentPlace, Path, check_keys
from engine.scenario.factory import template_strings
from engine.scenario.text import does_not_exist, one_of, shown
from engine.scenario.tree import Tree
from engine.specs.account import Account, Certificate
from engine.specs.base import Spec
from engine.specs.bodies import JobScheduleSpec, JobSpec, PoolSpec, PoolSpecification, TaskSpec
from engine.specs.command import OnJob, OnJobSchedule, OnPool
from engine.specs.commands import COMMANDS

# What only a template has: an expression, which begins with one of its functions, and the repetition of a resource.
_FUNCTIONS = (
    r"parameters|variables|concat|format|\w*resourceId|reference|list\w*|resourceGroup|subscription|deployment|copyIndex"
    r"|unique\w*|guid|newGuid|utcNow|if|equals|and|or|not|bool|int|float|string|json|create\w*|array|split|join|replace"
    r"|take|skip|first|last|union|coalesce|empty|length|min|max|range|add|sub|mul|div|mod|to\w+|trim|substring|pad\w+"
    r"|base64\w*|uri\w*|data\w*|environment|tenant\w*|managementGroup|provider\w*|pick\w*|\w+\.\w+"
)
_EXPRESSION = lazy_regex(rf"\[\s*(?:{_FUNCTIONS})\s*\(.*\]\s*", re.ASCII | re.DOTALL | re.IGNORECASE)
_CALL = lazy_regex(r"\[\s*[\w.]+\s*\(", re.ASCII)  # what stands in the text of each document with an expression
_POOL_ID = "the id of the pool, or 'account/pool'"
_TYPE = "Microsoft.Batch/batchAccounts/pools"
# Keys of a resource beside `properties`; those of a template and of `az resource show` that say nothing about the pool.
_IDENTIFYING = ("id", "name")
ENVELOPE = (
    *("type", "apiVersion", "location", "tags", "dependsOn", "comments", "condition", "scope", "parent"),
    *("kind", "managedBy", "plan", "sku", "resourceGroup", "extendedLocation"),
)
SERVICE_ENVELOPE = ("etag", "systemData", "createdTime", "changedTime", "provisioningState")
SERVICE_NAMES = (
    *("creationTime", "lastModified", "provisioningState", "provisioningStateTransitionTime", "allocationState"),
    *("allocationStateTransitionTime", "currentDedicatedNodes", "currentLowPriorityNodes", "autoScaleRun"),
    *("resizeOperationStatus", "currentNodeCommunicationMode"),
)
MOVED = dict(read_table("moved.csv", __file__))
"""The place within a resource, by the name of what the data plane has at the top of a pool."""
_OWN = ("deploymentConfiguration", "scaleSettings", "interNodeCommunication", "applicationPackages", "certificates")
FIXED_SCALE = ("resizeTimeout", "targetDedicatedNodes", "targetLowPriorityNodes", "nodeDeallocationOption")
AUTO_SCALE = {"formula": "autoScaleFormula", "evaluationInterval": "autoScaleEvaluationInterval"}
_COMMUNICATION = {"enabled": True, "disabled": False}
_DEALLOCATIONS = tuple(option.value for option in Deallocation)  # it matters to resizes only
_VERSION = lazy_regex(r"/versions/([^/]+)$", re.IGNORECASE)  # at the end of the id of a package
_TEMPLATE = ("resources", "$schema", "contentVersion")


def report_template_parts(root: DocumentPlace, text: str) -> None:
    """Report expressions in a document, which only a deployment evaluates, and resources that are to be repeated."""
    for section in ("pools", "jobs", "jobSchedules", "timeline") if "copy" in text or _CALL.search(text) else ():
        for entry in root.listed(section):
            expressions = (path for path, text in template_strings(entry.plain) if _EXPRESSION.fullmatch(text))
            ignored = {*ENVELOPE, "name" if entry.get("id") is not None else ""} - {"condition"}
            for path in [each for each in expressions if each[0] not in ignored and "simulate" not in each]:
                found = entry.find(path)[0]
                value = _POOL_ID if path == ("name",) else "its value, or paste the resource as deployed"
                found.report(f"{shown(found.plain)} is an expression of a template: write {value}")
                root.document.templated.add(found.path)
            for place in filter(None, (entry.get("copy"), entry.at("properties", "copy"))):
                place.report("'copy' repeats a part of a template: write each copy as an entry of its own", key=True)
                root.document.templated.add(place.path)


def is_there(place: DocumentPlace) -> bool:
    """Return whether a resource is created. One with ``condition: false`` is not."""
    condition = place.get("condition") if is_resource(place) else None
    value = True if condition is None else unquoted(condition, bool).plain
    if condition is not None and not isinstance(value, bool):
        condition.report(f"must be true or false, not {shown(value)}")
    return value is not False


def is_resource(place: DocumentPlace) -> bool:
    """Return whether a pool is written as a resource, or has a part at its top that only a resource has."""
    value = place.tree.value
    return isinstance(value, dict) and any(name in value for name in ("properties", *_OWN, *_TEMPLATE))


def has_resource_names(place: DocumentPlace) -> bool:
    """Return whether a pool in the form of the data plane has names of the resource manager."""
    machine = place.get("virtualMachineConfiguration")
    return machine is not None and machine.get(RESOURCE_NAMES["nodeAgentSKUId"]) is not None


def pool_of(place: DocumentPlace, *, others: Iterable[str], has_id: bool) -> DocumentPlace:
    """Return a resource as the body of a pool, and warn of what only the service writes.

    Mistakes are reported. Keys in ``others`` are kept; ``has_id`` is false for an auto pool.
    """
    properties = place.get("properties")
    reader = _PoolReader(place, properties, tuple(others), has_id=has_id)
    if not reader.is_readable():
        return reader.stand_in()
    for part in (place,) if properties is None else (place, properties):
        reader.read(part)
    pool = reader.finish()
    _warn(place, reader.left_out)
    return pool


def _is_mapping(place: DocumentPlace) -> bool:
    return place.is_a(dict, f"must be a mapping, not {shown(place.plain)}")


class _PoolReader:
    """A reader of one pool. Without ``properties`` its parts stand beside those of the data plane."""

    def __init__(
        self, place: DocumentPlace, properties: DocumentPlace | None, others: tuple[str, ...], *, has_id: bool
    ) -> None:
        self._outer = place
        self._place = properties or place
        self._others = others
        self._has_id = has_id
        self._parts = Parts(self._place)
        self._fields = fields_of(PoolSpec if has_id else PoolSpecification)
        service = (*SERVICE_ENVELOPE, *SERVICE_NAMES)
        self._style = Style(is_resource=True, is_returned=any(map(self._place.get, service)) or bool(place.get("etag")))
        self.left_out: list[DocumentPlace] = []

    def is_readable(self) -> bool:
        """Report a template and another kind of resource, and return whether there is no expression in it."""
        if any(map(self._outer.get, _TEMPLATE)):
            self._outer.report("is a whole template: put its pools here, each as an entry of its own", key=True)
            return False
        kind = self._outer.get("type")
        name = str(kind.plain).partition("@")[0].lower() if kind is not None else "pools"
        if kind is not None and name not in (_TYPE.lower(), "pools"):
            kind.report(f"{shown(kind.plain)} is no pool: only resources of the type {_TYPE} can stand here")
            return False
        if not _is_mapping(self._place):
            return False
        own = self._outer.path
        return not any(path[: len(own)] == own for path in self._outer.document.templated)

    def stand_in(self) -> DocumentPlace:
        """Return a valid pool in place of one that cannot be read, which is reported."""
        parts, position = Parts(self._outer), self._outer.tree.position
        if self._has_id:
            parts.default("id", Tree(position, self._id(quietly=True)))
        parts.default("vmSize", Tree(position, "standard_d2s_v3"))
        parts.default("targetDedicatedNodes", Tree(position, 0))
        return parts.place()

    def read(self, place: DocumentPlace) -> None:
        """Read the properties of the pool or what stands beside them, or both where they stand together."""
        beside, inside = place is self._outer, place is self._place
        of_service = SERVICE_ENVELOPE * beside + SERVICE_NAMES * inside
        of_service += tuple(PoolSpec.SERVICE_NAMES) * (beside and inside)
        identifying = (*_IDENTIFYING, *ENVELOPE, *self._others)
        known = [name for name in self._fields if beside or (name not in MOVED and name != "id")]
        for name, inner in place.items():
            if inner.tree.value is None or (beside and name == "properties"):
                continue
            if beside and name in identifying:
                self._beside(name, inner)
            elif name == "identity":
                self._identity(inner)
            elif name in of_service:
                self.left_out.append(inner)
            elif inside and name in _OWN:
                self._own(name, inner)
            elif inside and name in known:
                self._put(name, inner)
            elif not inside and (name in self._fields or name in _OWN):
                inner.report(f"{shown(name)} belongs in 'properties' of a resource", key=True)
            elif not beside and name in MOVED:
                inner.report(f"{shown(name)} does not exist here: the resource has it in {MOVED[name]}", key=True)
            elif inside:
                inner.report(does_not_exist(name, (*_OWN, *known)), key=True)
                place.document.misspelt.add(place.path)
            else:
                words = (*_IDENTIFYING, "properties", "identity", *ENVELOPE, *self._others)
                inner.report(does_not_exist(name, words), key=True)

    def _own(self, name: str, place: DocumentPlace) -> None:
        """Read a property that only a resource has."""
        if name == "deploymentConfiguration":
            self._sections(place, ("virtualMachineConfiguration", "cloudServiceConfiguration"))
        elif name == "scaleSettings":
            self._scale(place)
        elif name == "interNodeCommunication":
            self._communication(place)
        else:
            self._references(name, place)

    def finish(self) -> DocumentPlace:
        """Return the pool. A resource without scale settings has no nodes."""
        if not any(name in self._parts.value for name in ("targetLowPriorityNodes", "enableAutoScale")):
            self._parts.default("targetDedicatedNodes", Tree(self._place.tree.position, 0))
        if self._has_id and "id" not in self._parts.value:
            self._parts.default("id", Tree(self._outer.tree.position, self._id()))
        return self._parts.place()

    def _put(self, name: str, place: DocumentPlace) -> None:
        """Add a property of the data plane with the value at a place of the resource."""
        put_spelled(self._parts, name, place, self._fields[name], self._style)

    def _beside(self, name: str, place: DocumentPlace) -> None:
        """Read a key that stands beside the properties, or would if there were ``properties``."""
        if name in self._others:
            self._parts.put(name, place)
        elif self._has_id and (name == "id" or (name == "name" and self._outer.get("id") is None)):
            self._parts.put("id", place, Tree(place.tree.position, self._id()) if place.plain else place.tree)

    def _id(self, *, quietly: bool = False) -> str:
        """Return the pool's id: ``id``, or the last segment of a resource id or a name."""
        stand_in = f"line-{self._outer.line}"
        source = self._outer.get("id") or self._outer.get("name")
        if source is None:
            if not quietly:
                self._outer.report("the pool needs a name or an id", key=True, below=("name",))
            return stand_in
        text = source.plain
        if not isinstance(text, str) or source.path in self._outer.document.templated:
            if not quietly:
                source.report(f"{shown(text)} is not text: write {_POOL_ID}")
            return stand_in
        return text.rstrip("/").rpartition("/")[2] or stand_in

    def _sections(self, place: DocumentPlace, names: tuple[str, ...]) -> None:
        """Read the parts of a section, each of which the data plane has at the top of a pool."""
        for name, inner in place.known_items(names) if _is_mapping(place) else ():
            if inner.tree.value is not None and name in self._fields:
                self._put(name, inner)
            elif inner.tree.value is not None and str(inner.plain).lower() not in _DEALLOCATIONS:
                inner.report(f"{shown(inner.plain)} does not exist here" + one_of(str(inner.plain), _DEALLOCATIONS))

    def _scale(self, place: DocumentPlace) -> None:
        fixed, auto = place.get("fixedScale"), place.get("autoScale")
        if _is_mapping(place):
            check_keys(place, ("fixedScale", "autoScale"))
        if fixed is not None and auto is not None:
            auto.report("a pool has 'fixedScale' or 'autoScale', not both", key=True)
        elif fixed is not None:
            self._sections(fixed, FIXED_SCALE)
        elif auto is not None and _is_mapping(auto):
            self._parts.put("enableAutoScale", auto, Tree(auto.tree.position, True))
            for name, inner in auto.known_items(AUTO_SCALE):
                if inner.tree.value is not None:
                    self._put(AUTO_SCALE[name], inner)
            if auto.get("formula") is None:
                auto.report_missing("formula")
                self._parts.default("autoScaleFormula", Tree(auto.tree.position, "$TargetDedicatedNodes = 0"))

    def _communication(self, place: DocumentPlace) -> None:
        value = place.plain
        enabled = _COMMUNICATION.get(value.lower()) if isinstance(value, str) else None
        if enabled is None:
            place.report(does_not_exist(value, ("Enabled", "Disabled")))
        else:
            self._parts.put("enableInterNodeCommunication", place, Tree(place.tree.position, enabled))

    def _references(self, name: str, place: DocumentPlace) -> None:
        """Read references to packages or certificates, which a resource names by the ids of their resources."""
        if place.is_a(list, f"must be a list, not {shown(place.plain)}"):
            entries = [self._reference(name, entry) for entry in place.entries()]
            self._parts.put(_RENAMED[name], place, Tree(place.tree.position, entries))

    def _reference(self, name: str, place: DocumentPlace) -> Tree:
        if not isinstance(place.tree.value, dict):
            return place.tree
        parts = Parts(place)
        own, words = _REFERENCES[name]
        parts.expect(own, (*place.path, "id"))
        for key, inner in place.known_items(words):
            if inner.tree.value is not None and key != "id":
                parts.put(key, inner)
            elif inner.tree.value is not None:
                text = str(inner.plain).rstrip("/")
                version = _VERSION.search(text) if name == "applicationPackages" else None
                if version is not None:
                    text = text[: version.start()]
                    parts.put("version", inner, Tree(inner.tree.position, version[1]))
                text = text.rpartition("/")[2]
                if name == "certificates" and "-" in text:
                    algorithm, _, text = text.partition("-")
                    parts.put("thumbprintAlgorithm", inner, Tree(inner.tree.position, algorithm))
                parts.put(own, inner, Tree(inner.tree.position, text) if isinstance(inner.plain, str) else inner.tree)
        return parts.place().tree

    def _identity(self, place: DocumentPlace) -> None:
        """Read the identities, which a resource has in a mapping by their ids."""
        if not isinstance(place.tree.value, dict):
            self._parts.put("identity", place)
            return
        parts = Parts(place)
        for name, inner in place.items():
            if name == "userAssignedIdentities" and isinstance(inner.tree.value, dict):
                entries: list[Tree] = []
                for resource_id, details in inner.items():
                    entry = Parts(details)
                    entry.put("resourceId", details, Tree(details.tree.position, resource_id))
                    for key in ("clientId", "principalId"):
                        if (detail := details.get(key)) is not None:
                            entry.put(key, detail)
                    entries.append(entry.place().tree)
                parts.put(name, inner, Tree(inner.tree.position, entries))
            elif inner.tree.value is not None and name not in ("principalId", "tenantId"):
                parts.put(name, inner)
        if "identity" in self._fields:
            self._parts.put("identity", place, parts.place().tree)


_RENAMED = {own: name for name, own in MOVED.items()}
_REFERENCES = {
    "applicationPackages": ("applicationId", ("id", "version")),
    "certificates": ("thumbprint", ("id", "storeLocation", "storeName", "visibility")),
}


_AUTO_POOL: Path = ("poolInfo", "autoPoolSpecification", "pool")
_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes", "targetDedicated")
Change = Callable[[DocumentPlace], DocumentPlace]


_OF_SERVICE = (PoolSpec, JobSpec, JobScheduleSpec, OnPool, OnJob, OnJobSchedule)


def as_created(place: DocumentPlace, model: type[Spec], others: Iterable[str] = ()) -> DocumentPlace:
    """Return a body of ``model`` in the form that creates the thing, itself if it has that form.

    ``model`` is the body of a pool, job, job schedule, account or certificate, or that of a command which creates one
    or adds tasks. Keys in ``others`` stand beside the body. Mistakes in a resource are reported.
    """
    created = _as_created(place, model, tuple(others))
    return unquoted(created, model) if issubclass(model, _OF_SERVICE) else created


def _as_created(place: DocumentPlace, model: type[Spec], kept: tuple[str, ...]) -> DocumentPlace:
    if issubclass(model, PoolSpec):
        return _pool(place, model, kept)
    if issubclass(model, JobSpec):
        place = _changed(place, _AUTO_POOL, _auto_pool)
        return _with_tasks(_as_sent(place, model, kept))
    if issubclass(model, JobScheduleSpec):
        return _as_sent(_changed(place, ("jobSpecification", *_AUTO_POOL), _auto_pool), model, kept)
    if issubclass(model, Account):
        return _as_sent(_changed(place, ("certificates",), partial(_each, model=Certificate)), model, kept)
    if issubclass(model, Certificate):
        return _as_sent(place, model, kept)
    return _with_tasks(place) if "tasks" in fields_of(model) else place


def command_as_created(entry: DocumentPlace) -> DocumentPlace:
    """Return an entry of a timeline with the bodies of its commands in the form that creates the thing.

    An entry that is read again is not put into that form again, so mistakes in it are reported once.
    """
    known = entry.document.created
    if entry.tree not in known:
        changed = entry
        for name in entry.tree.value if isinstance(entry.tree.value, dict) else ():
            if name in COMMANDS:
                changed = _changed(changed, (name,), partial(as_created, model=COMMANDS[name]))
        known[entry.tree] = changed.tree
    return entry._replace(tree=known[entry.tree])


def _pool(place: DocumentPlace, model: type[PoolSpec], others: tuple[str, ...]) -> DocumentPlace:
    if not is_resource(place):
        sent = _as_sent(place, model, others)
        if sent is not place or not has_resource_names(place):
            return sent
    return pool_of(place, others=others, has_id=True)


def _auto_pool(place: DocumentPlace) -> DocumentPlace:
    if _is_printed_by_az(place) or not (is_resource(place) or has_resource_names(place)):
        return place
    return pool_of(place, others=(), has_id=False)


def _with_tasks(place: DocumentPlace) -> DocumentPlace:
    for path in (("tasks",), ("value",), ("taskFactory", "tasks")):
        place = _changed(place, path, partial(_each, model=TaskSpec))
    return _changed(place, ("taskFactory", "repeatTask"), partial(unquoted, kind=TaskSpec))


def _each(place: DocumentPlace, model: type[Spec]) -> DocumentPlace:
    """Return a list of bodies of ``model``, each without what only the service writes."""
    if isinstance(place.plain, list) and all(_is_usual(value, model) for value in place.plain):
        return unquoted(place, model)
    entries = [(entry, unquoted(_as_sent(entry, model, ()), model)) for entry in place.entries()]
    if all(before.tree is after.tree for before, after in entries):
        return place
    return place._replace(tree=Tree(place.tree.position, [after.tree for _, after in entries]))


def _as_sent(place: DocumentPlace, model: type[Spec], others: tuple[str, ...]) -> DocumentPlace:
    """Return a body without what only the service writes, itself if there is nothing of the kind.

    It may have the names and values of a client: of Python's or of the Azure CLI (GEN-21).
    """
    if not isinstance(place.plain, dict) or _is_usual(place.plain, model):
        return place
    written, place = place, wire_spelled(place, model, others)
    given = ((name, inner) for name, inner in place.items() if inner.plain is not None)
    left_out = [inner for name, inner in given if _is_of_service(name, model)]
    if not left_out and place is written and not _is_printed_by_az(place):
        return place
    is_automatic = place.get("enableAutoScale")
    if is_automatic is not None and is_automatic.plain is True:  # the formula has set them
        left_out += filter(None, map(place.get, _TARGETS))
    _warn(place, left_out)
    dropped = {inner.path for inner in left_out}
    parts = Parts(place)
    apart = Parts(place)
    for name, inner in place.items():
        if inner.path in dropped:
            continue
        if name in others:
            apart.put(name, inner)
        else:
            parts.put(name, inner)
    sent = place._replace(tree=spelled(parts.place(), model, Style(is_returned=True)))
    for name, inner in sent.items():
        apart.put(name, inner)
    if issubclass(model, JobScheduleSpec):  # the service leaves out a schedule in which nothing is set
        apart.default("schedule", Tree(place.tree.position, {}))
    return apart.place()


def _is_usual(value: Plain, model: type[Spec]) -> bool:
    """Return whether no key of a value is one that a client writes in its own way or only the service writes."""
    return not isinstance(value, dict) or _are_usual(tuple(value), model)


@lru_cache(maxsize=256)  # a long list has few combinations of keys
def _are_usual(names: tuple[str, ...], model: type[Spec]) -> bool:
    return not any("_" in name or name == PRINTED_BY_AZ or _is_of_service(name, model) for name in names)


def _is_of_service(name: str, model: type[Spec]) -> bool:
    return name in model.SERVICE_NAMES or name.startswith(("odata.", "@odata."))


def _is_printed_by_az(place: DocumentPlace) -> bool:
    return isinstance(place.plain, dict) and PRINTED_BY_AZ in place.plain


def _warn(place: DocumentPlace, left_out: list[DocumentPlace]) -> None:
    if not left_out:
        return
    names = ", ".join(str(inner.path[-1]) for inner in left_out)
    first = left_out[0]
    position = first.key_position or first.tree.position
    place.document.returned.add(place.path)
    place.document.warn(
        f"what only the service writes is left out: {names}", position, place.path, "returned-by-service"
    )


def _changed(place: DocumentPlace, path: Path, change: Change) -> DocumentPlace:
    """Return the place with the value at ``path`` changed; itself if there is no such value or it stays."""
    if not path:
        return change(place)
    name = str(path[0])
    inner, value = place.get(name), place.tree.value
    if inner is None or not isinstance(value, dict):
        return place
    new = _changed(inner, path[1:], change)
    if new.tree is inner.tree:
        return place
    tree = place.tree
    origins = {**tree.origins, name: new.path}
    return place._replace(tree=Tree(tree.position, {**value, name: new.tree}, tree.keys, origins))
