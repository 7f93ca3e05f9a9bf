"""The fields of a form: labels, help, and the conversion between what is typed and a property of a body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from engine.base.shortening import quoted
from engine.base.terms import Plain
from engine.base.units import format_duration
from engine.scenario.record import flow_text
from engine.scenario.tree import parse
from tui.viewmodels.text.format import duration_ms

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session

T = TypeVar("T")
Body = Mapping[str, object]


# -- what is typed, and the value that it means


def whole(text: str) -> int:
    """Return the number that was typed. Raises ValueError with a sentence."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{quoted(text)} must be a whole number") from None


def duration(text: str) -> str:
    """Return a duration such as 2m, 90s, 1h30m, PT2M or 00:02:00 as ISO 8601. Raises ValueError with a sentence."""
    return format_duration(duration_ms(text))


def duration_or_value(text: str) -> Plain:
    """Return a duration, or a distribution such as {normal: [PT2M, PT10S]}. Raises ValueError with a sentence."""
    return value(text) if text.lstrip().startswith(("{", "[")) else duration(text)


def whole_or_value(text: str) -> Plain:
    """Return a number, or weights such as {0: 0.9, 1: 0.1}. Raises ValueError with a sentence."""
    return value(text) if text.lstrip().startswith("{") else whole(text)


def value(text: str) -> Plain:
    """Return a value in the flow style of YAML. Raises ValueError with a sentence."""
    problems: list[str] = []
    tree = parse(text, lambda message, _: problems.append(message))
    if tree is None or problems:
        raise ValueError(problems[0] if problems else "must be a value")
    return tree.plain


def yes_or_no(text: str) -> bool:
    """Return True for yes and False for no. Raises ValueError with a sentence."""
    if text.lower() not in ("yes", "no"):
        raise ValueError(f"{quoted(text)} must be yes or no")
    return text.lower() == "yes"


def words(text: str) -> list[Plain]:
    """Return the words that were typed, separated by blanks or commas."""
    return [*text.replace(",", " ").split()]


def packages(text: str) -> list[Plain]:
    """Return references to packages, typed as ``pricer 1.2, tools``."""
    parts = [part.split() for part in text.split(",") if part.strip()]
    return [dict(zip(("applicationId", "version"), part, strict=False)) for part in parts]


def thumbprints(text: str) -> list[Plain]:
    """Return references to certificates by their thumbprints, separated by blanks or commas."""
    return [{"thumbprint": each, "thumbprintAlgorithm": "sha1"} for each in text.replace(",", " ").split()]


def as_text(value: object) -> str:
    """Return a value of a body as it is typed."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case list() if all(isinstance(each, str) for each in value):
            return " ".join(value)
        case list() if all(isinstance(each, dict) and set(each) <= {"applicationId", "version"} for each in value):
            return ", ".join(" ".join(each.values()) for each in value)
        case list() if all(isinstance(each, dict) and "thumbprint" in each for each in value):
            return " ".join(each["thumbprint"] for each in value)
    return flow_text(value)  # type: ignore[arg-type]  # a value of a body is JSON


# -- properties of a body, by the names on the way to them


def property_at(body: object, path: str) -> object:
    """Return the property at a path such as ``jobPreparationTask.commandLine``, None if it is absent."""
    found: Any = body
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def with_property(body: Body, path: str, value: object) -> dict[str, Any]:
    """Return the body with another value at a path; None removes the property, and what is empty without it."""
    changed = deepcopy(dict(body))
    *above, last = path.split(".")
    inner: dict[str, Any] = changed
    chain = [changed]
    for name in above:
        if not isinstance(inner.get(name), dict):
            if value is None:
                return changed
            inner[name] = {}
        inner = inner[name]
        chain.append(inner)
    if value is not None:
        inner[last] = value
        return changed
    inner.pop(last, None)
    for name, outer in zip(reversed(above), reversed(chain[:-1]), strict=True):
        if not outer[name]:
            del outer[name]
    return changed


def _nothing(_: object) -> str:
    return ""


def _no_options(_: object) -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class Field(Generic[T]):
    """A field of a form.

    ``name`` is the property that it sets, with the names of the bodies around it: ``jobReleaseTask.commandLine``.
    ``read`` returns the property's value from what was typed; it raises ValueError with a sentence. An empty field is
    left out of the body. A field with ``options`` is chosen from with the arrow keys.
    """

    name: str
    label: str
    hint: str = ""
    default: Callable[[T], str] = _nothing
    read: Callable[[str], object] = str
    options: Callable[[Session], Sequence[str]] = _no_options
    section: str = ""  # the heading above it, if it is the first field there
    is_required: bool = False
    about: Callable[[str], str] = _nothing  # a sentence about what was typed

    def value(self, text: str) -> object:
        """Return what was typed as the property's value. Raises ValueError with a sentence."""
        try:
            return self.read(text.strip())
        except ValueError as error:
            raise ValueError(f"{self.label}: {error}") from None

    def text_in(self, body: Body) -> str:
        """Return the text of the field for a body."""
        return as_text(property_at(body, self.name))

    def put_into(self, body: Body, text: str) -> dict[str, Any]:
        """Return the body with what was typed. Raises ValueError with a sentence."""
        return with_property(body, self.name, self.read(text.strip()) if text.strip() else None)


def yes_no_options(_: Session) -> Sequence[str]:
    """Return the options of a field that is switched on or off; the empty one leaves the service's default."""
    return ("", "yes", "no")


def one_of(*texts: str) -> Callable[[Session], Sequence[str]]:
    """Return the options of a field that has one of these values; an empty text leaves the service's default."""
    return lambda _: texts


# -- fields of more than one form

AnyField = Field[Any]

DURATION = "90s, 2m, 1h30m or PT2M"
"""Examples of durations, for the hints of fields."""

ID = Field[Any]("id", "Id", "letters, digits, - and _; at most 64", is_required=True)
DISPLAY_NAME = Field[Any]("displayName", "Display name", "shown by the portal; anything")
