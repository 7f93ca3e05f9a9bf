"""Properties of bodies: those that change nothing in a simulation, and values that the service may not know."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from engine.scenario.body_models import fields_of, model_of
from engine.scenario.document import DocumentPlace, format_path
from engine.scenario.known_nodes import NodeOwner, nodes_in
from engine.scenario.names import text_at
from engine.specs import images
from engine.specs.base import Spec, has_effect
from engine.specs.catalogue import is_listed, nearest_sizes, vm_size
from engine.specs.common import CommandLine, ResourceFile
from engine.specs.job import JobManagerTask, PoolInfo
from engine.specs.machine import ImageReference
from engine.specs.pool import PoolSpecification
from engine.specs.task import MultiInstanceSettings, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pydantic.fields import FieldInfo

    from engine.base.terms import Plain
    from engine.scenario.command_line_warnings import CommandLines
    from engine.scenario.document import Path
    from engine.scenario.slot_warnings import RequiredSlots


class _Body(NamedTuple):
    """One body while it is searched, with the properties found in it that change nothing."""

    place: DocumentPlace
    owner: NodeOwner
    without_effect: list[DocumentPlace]


@dataclass(slots=True)
class BodySearch:
    """A search of bodies by their models, which hands command lines and required slots on to their modules.

    Attributes:
        start: The start of the scenario, at which the support of an image counts.
        has_storage_account: The account has a storage account for containers that are given by name.
        pool_ids: The pools that jobs name.
    """

    start: datetime
    has_storage_account: bool
    lines: CommandLines
    slots: RequiredSlots
    pool_ids: list[DocumentPlace] = field(default_factory=list)

    def search(self, place: DocumentPlace, model: type[Spec], owner: NodeOwner, line: str | None = None) -> None:
        """Search one body; ``line`` is the text of a command line template in it."""
        body = _Body(place, owner, [])
        self._visit(place, model, body, line)
        _report_without_effect(body)

    def search_alike(self, listed: DocumentPlace, model: type[Spec], owner: NodeOwner) -> None:
        """Search a list of bodies that count as one."""
        body = _Body(listed, owner, [])
        for place in listed.entries():
            self._visit(place, model, body)
        _report_without_effect(body)

    def _visit(self, place: DocumentPlace, model: type[Spec], body: _Body, line: str | None = None) -> None:
        """Look at the watched properties of a mapping of ``model``."""
        if not isinstance(place.plain, dict):
            return
        if issubclass(model, PoolSpecification):
            body = body._replace(owner=NodeOwner(nodes=nodes_in(place.plain)))
        self._visit_values(place, model)
        if issubclass(model, TaskSpec | JobManagerTask):
            self.slots.visit(place, body.owner)
        self.lines.visit(place, model, body.owner, line)
        watched = _watched(model)
        for name in place.plain:
            known = watched.get(name)
            inner = place.get(name) if known is not None else None
            if known is None or inner is None:
                continue
            if not has_effect(known):
                if not _says_nothing(inner.plain, known):
                    body.without_effect.append(inner)
                continue
            for value in _values(inner):
                self._visit(value, model_of(known) or Spec, body)

    def _visit_values(self, place: DocumentPlace, model: type[Spec]) -> None:
        """Look at the models of which some values are worth a warning."""
        if issubclass(model, ImageReference):
            self._visit_image(place)
        if issubclass(model, PoolInfo) and (pool := place.get("poolId")) is not None:
            self.pool_ids.append(pool)
        if issubclass(model, PoolSpecification) and (size := place.get("vmSize")) is not None:
            _visit_size(size)
        if issubclass(model, ResourceFile) and not self.has_storage_account:
            container = place.get("autoStorageContainerName")
            if container is not None:
                container.warn(
                    "the account has no storage account for this container: name it as account.storageAccount"
                )

    def _visit_image(self, place: DocumentPlace) -> None:
        """Warn of a marketplace image that the catalogue does not know, or whose support has ended (POOL-26)."""
        publisher, offer, sku = (text_at(place.plain, name) for name in ("publisher", "offer", "sku"))
        if publisher and offer and sku:
            reason = images.warning(publisher, offer, sku, self.start, exists=_is_returned(place))
            if reason is not None:
                place.warn(reason)


def _visit_size(place: DocumentPlace) -> None:
    """Warn of a size whose name is possible but not listed: the service may not have it (VM-2)."""
    name = place.plain
    if not isinstance(name, str) or is_listed(name) or vm_size(name) is None or _is_returned(place):
        return
    near = nearest_sizes(name)
    hint = f"; the nearest of the listed sizes is {near[0]}" if near else ""
    place.warn(
        f"{name} is not one of the listed sizes: its cores, memory and price are derived from its name, and the"
        f" service may not have it{hint}"
    )


def _is_returned(place: DocumentPlace) -> bool:
    """Return whether a place belongs to a body that the service has returned, so that it knows the values."""
    return any(place.path[:length] in place.document.returned for length in range(len(place.path)))


def _report_without_effect(body: _Body) -> None:
    """Warn of all properties of a body that change nothing, at the line of the first."""
    if not body.without_effect:
        return
    names = [format_path(_relative(place.path, body.place.path)) for place in body.without_effect]
    verb = "is accepted and changes" if len(names) == 1 else "are accepted and change"
    first = body.without_effect[0]
    body.place.document.warn(
        f"{_listed(names)} {verb} nothing in a simulation", first.key_position or first.tree.position, body.place.path
    )


def _relative(path: Path, base: Path) -> Path:
    """Return a path from where it leaves another: parts of a resource stand beside its ``properties`` too."""
    common = next((index for index, part in enumerate(base) if path[index] != part), len(base))
    return path[common:]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def _values(place: DocumentPlace) -> Iterable[DocumentPlace]:
    """Return the mappings of a property: itself, or those in its list."""
    return place.entries() if isinstance(place.tree.value, list) else (place,)


@cache
def _watched(model: type[Spec]) -> dict[str, FieldInfo]:
    """Return the properties of a model that have no effect, or in which there is something to look at."""
    return {name: field for name, field in fields_of(model).items() if not has_effect(field) or _leads_on(field, ())}


def _leads_on(field: FieldInfo, above: tuple[type[Spec], ...]) -> bool:
    model = model_of(field)
    if model is None or model in above:
        return False
    if issubclass(model, ImageReference | PoolInfo | ResourceFile | CommandLine | MultiInstanceSettings):
        return True
    return any(not has_effect(inner) or _leads_on(inner, (*above, model)) for inner in model.model_fields.values())


def _says_nothing(value: Plain, field: FieldInfo) -> bool:
    """Return whether a value is the default, so that leaving it out would say as much."""
    if value in (False, [], {}):
        return True
    if isinstance(value, str) and isinstance(field.default, str):
        return value.lower() == field.default.lower()
    model = model_of(field)
    if model is None or not isinstance(value, dict):
        return False
    try:
        return model.from_wire(value) == model.from_wire({})
    except ValidationError:
        return False
