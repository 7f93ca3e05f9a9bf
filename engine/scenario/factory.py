"""Task factories: many tasks from one template, as in the ``az batch`` templates.

A parametric sweep is a product of arithmetic progressions and a task body with placeholders, and is stored as such: a
million tasks take a few ranges and one body. The text of a task is generated on demand.

Placeholders, in every string of the body: ``{0}`` is the value of the first parameter set, ``{1}`` of the second;
``{0:4}`` is padded with zeros to four digits; ``{{`` and ``}}`` are braces, and so is a brace outside a placeholder,
as in ``${HOME}``. The last parameter varies fastest. Without an id in the template tasks are numbered from 0, as by
the service's tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import lazy_regex, quoted, shortened, walk
from engine.specs.bodies import TaskSpec

if TYPE_CHECKING:
    from engine.base.terms import Plain

AMBIGUOUS_LIMIT = 100_000
"""So many ids are compared one by one when their pattern alone does not say that they differ."""

_TOKEN = lazy_regex(r"\{\{|\}\}|\{(?P<parameter>\d{1,4})(?::(?P<width>\d{1,2}))?\}", re.ASCII)
# Properties that may differ between tasks that otherwise behave alike.
_NAMES_ONLY = ("id", "displayName", "commandLine", "environmentSettings", "resourceFiles")
_BLOB_PATH = ("destination", "container", "path")


class Placeholder(NamedTuple):
    """A parameter's value in a text. ``parameter`` None is the task's number."""

    parameter: int | None
    width: int = 0

    def text(self, value: int) -> str:
        """Return the value in digits, padded with zeros to the width."""
        return str(value).zfill(self.width)


Pattern = tuple[str | Placeholder, ...]


class CompiledPattern:
    """A pattern compiled for formatting, because writing a log takes a million ids."""

    __slots__ = ("_ends", "_parameters", "_text", "is_plain")

    def __init__(self, pattern: Pattern) -> None:
        """Compile a pattern."""
        self._text = "".join(
            part.replace("%", "%%") if isinstance(part, str) else f"%0{part.width}d" if part.width else "%d"
            for part in pattern
        )
        self._parameters = tuple(part.parameter for part in pattern if isinstance(part, Placeholder))
        self.is_plain = self._parameters == (0,)  # only the first parameter varies, and occurs once
        self._ends: tuple[str, str] | None = None  # what is around the digits, if they are not padded
        if self.is_plain and Placeholder(0) in pattern:
            at = pattern.index(Placeholder(0))
            self._ends = "".join(map(str, pattern[:at])), "".join(map(str, pattern[at + 1 :]))

    def plain_texts(self, first: range, numbers: Sequence[int], before: str = "", after: str = "") -> list[str]:
        """Return the texts of many tasks by a plain pattern and the first parameter, each between two other texts."""
        start, step = first.start, first.step  # asking the range for each value takes as long as writing it
        if self._ends is None:
            return [f"{before}{self._text % (start + step * number)}{after}" for number in numbers]
        before, after = before + self._ends[0], self._ends[1] + after
        return [f"{before}{start + step * number}{after}" for number in numbers]

    def text(self, k: int, values: tuple[int, ...]) -> str:
        """Return the text of task ``k`` with these parameter values."""
        if self.is_plain:
            return self._text % values[0]
        return self._text % tuple(k if one is None else values[one] for one in self._parameters)


def parse_pattern(text: str, parameters: int) -> Pattern:
    """Return the literals and placeholders of a template string; literals are never adjacent.

    Raises:
        ValueError: A placeholder refers to none of the ``parameters``.
    """
    parts: list[str | Placeholder] = []
    literal, end = "", 0
    for token in _TOKEN.finditer(text):
        literal += text[end : token.start()]
        end = token.end()
        if token[0] in ("{{", "}}"):
            literal += token[0][0]
        elif int(token["parameter"]) >= parameters:
            raise ValueError(
                f"{quoted(token[0])} refers to parameter set {shortened(token['parameter'])}, but there "
                + ("is only set 0" if parameters == 1 else f"are only sets 0 to {parameters - 1}")
            )
        else:
            if literal:
                parts.append(literal)
            literal = ""
            parts.append(Placeholder(int(token["parameter"]), int(token["width"] or 0)))
    literal += text[end:]
    return (*parts, literal) if literal else tuple(parts)


def template_strings(value: Plain) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every string in a template with its path."""
    return ((path, text) for path, text in walk(value) if isinstance(text, str))


def _is_name(path: tuple[str | int, ...]) -> bool:
    return path[0] in _NAMES_ONLY or (path[0] == "outputFiles" and path[2:] == _BLOB_PATH)


class TaskFactory:
    """The tasks of a parametric sweep, numbered 0 to ``count`` - 1; equal if parameters and body are equal."""

    def __init__(self, parameters: Sequence[range], body: Mapping[str, Plain]) -> None:
        """Create the sweep of ``body`` over the product of ``parameters``.

        Raises:
            ValueError: A placeholder is wrong, or a range is empty. ``spec`` and ``duplicate`` find other mistakes.
        """
        if not parameters or not all(parameters):
            raise ValueError("a parametric sweep needs at least one parameter set, and no empty one")
        self.parameters = tuple(parameters)
        self.count = prod(map(len, self.parameters))
        self._body = dict(body)
        self._patterns = {text: parse_pattern(text, len(parameters)) for _, text in template_strings(self._body)}
        identifier = self._body.get("id")
        self._id: Pattern = self._patterns[identifier] if isinstance(identifier, str) else (Placeholder(None),)
        self._id_form = CompiledPattern(self._id)
        self._forms = {text: CompiledPattern(pattern) for text, pattern in self._patterns.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskFactory):
            return NotImplemented
        return self.parameters == other.parameters and self._body == other._body

    def __hash__(self) -> int:
        return hash(self.parameters)

    def __repr__(self) -> str:
        return f"TaskFactory({self.count} tasks, {self._body.get('id', '')!r})"

    def wire(self) -> dict[str, Plain]:
        """Return the sweep as a scenario writes it."""
        sets: list[Plain] = []
        for each in self.parameters:
            step: dict[str, Plain] = {} if each.step == 1 else {"step": each.step}
            sets.append({"start": each[0], "end": each[-1], **step})
        return {"type": "parametricSweep", "parameterSets": sets, "repeatTask": dict(self._body)}

    @cached_property
    def varies(self) -> bool:
        """True if more than names differs between the tasks: ids, command line, environment, and blobs."""
        return any(
            not _is_name(path) and any(map(self._is_varying, self._patterns[text]))
            for path, text in template_strings(self._body)
        )

    @property
    def id_prefix(self) -> str:
        """The text in lower case with which all ids begin, before the first placeholder."""
        first = self._id[0] if self._id else ""
        return first.lower() if isinstance(first, str) else ""

    def values(self, k: int) -> tuple[int, ...]:
        """Return the parameter values of task ``k``; raise IndexError if there is none."""
        if not 0 <= k < self.count:
            raise IndexError(f"task {k} of a factory of {self.count}")
        if len(self.parameters) == 1:
            return (self.parameters[0][k],)
        found = []
        rest = k
        for parameter in reversed(self.parameters):
            rest, index = divmod(rest, len(parameter))
            found.append(parameter[index])
        return tuple(reversed(found))

    def task_id(self, k: int) -> str:
        """Return the id of task ``k``."""
        return self._id_form.text(k, self.values(k))

    def task_ids(self, numbers: Sequence[int], before: str = "", after: str = "") -> list[str]:
        """Return the ids of many tasks, each between two texts."""
        return self._texts(self._id_form, numbers, before, after)

    def command_line(self, k: int) -> str:
        """Return the command line of task ``k`` without building its spec."""
        return self._forms[str(self._body["commandLine"])].text(k, self.values(k))

    def command_lines(self, numbers: Sequence[int]) -> list[str]:
        """Return the command lines of many tasks."""
        return self._texts(self._forms[str(self._body["commandLine"])], numbers)

    def _texts(self, form: CompiledPattern, numbers: Sequence[int], before: str = "", after: str = "") -> list[str]:
        if len(self.parameters) == 1 and form.is_plain:
            return form.plain_texts(self.parameters[0], numbers, before, after)
        return [f"{before}{form.text(k, self.values(k))}{after}" for k in numbers]

    def output_path(self, k: int, output: int) -> str:
        """Return the path in the container that an output file of task ``k`` names; empty without one."""
        form = self._output_paths.get(output)
        return "" if form is None else form.text(k, self.values(k))

    @cached_property
    def _output_paths(self) -> dict[int, CompiledPattern]:
        found = template_strings(self._body.get("outputFiles"))
        return {int(path[0]): self._forms[text] for path, text in found if path[1:] == _BLOB_PATH}

    def spec(self, k: int) -> TaskSpec:
        """Return the spec of task ``k``; pydantic raises ValidationError if it is invalid."""
        return self._first if k == 0 else TaskSpec.from_wire(self.body(k))

    @cached_property
    def _first(self) -> TaskSpec:
        """The spec of task 0, which stands for all if only names differ; jobs with equal sweeps share it."""
        return TaskSpec.from_wire(self.body(0))

    def body(self, k: int) -> dict[str, Plain]:
        """Return the JSON of task ``k``: the template with all placeholders replaced."""
        filled = self._filled(self._body, k)
        assert isinstance(filled, dict)
        return filled if filled.get("id") is not None else filled | {"id": self.task_id(k)}

    def filled(self, text: str, k: int) -> str:
        """Return a text of the template as task ``k`` has it."""
        return self._forms[text].text(k, self.values(k))

    def ordinal_of(self, task_id: str) -> int | None:
        """Return the number of the task with this id, compared without regard to case (GEN-1), or None."""
        if not self._is_readable:
            return self._ordinals.get(task_id.casefold()) if self.count <= AMBIGUOUS_LIMIT else None
        match = self._expression.fullmatch(task_id)
        if match is None:
            return None
        k = 0
        if self._id == (Placeholder(None),):
            k = int(task_id)
        else:
            for index, parameter in enumerate(self.parameters):
                text = match.groupdict().get(f"p{index}")
                value = parameter[0] if text is None else int(text)
                if value not in parameter:
                    return None
                k = k * len(parameter) + parameter.index(value)
        return k if k < self.count and self.task_id(k).casefold() == task_id.casefold() else None

    def duplicate(self) -> str | None:
        """Return the reason why ids of this factory collide, or None if they all differ."""
        if self._id == (Placeholder(None),):
            return None
        shown = {part.parameter for part in self._id if isinstance(part, Placeholder)}
        for index, parameter in enumerate(self.parameters):
            if len(parameter) > 1 and index not in shown:
                return f"every task gets an id of its own only if it contains '{{{index}}}'"
        if self._is_readable:
            return None
        if self.count > AMBIGUOUS_LIMIT:
            return "numbers in the id run into one another: put a letter or '_' between two placeholders"
        if len(self._ordinals) == self.count:
            return None
        first = next(k for k in range(self.count) if self._ordinals[self.task_id(k).casefold()] != k)
        return (
            f"two of its tasks get the id {quoted(self.task_id(first))}: put a letter or '_' between two placeholders"
        )

    @cached_property
    def ids_rise(self) -> bool:
        """True if the ids certainly rise from task to task as people count."""
        return self._rises(self._id)

    @cached_property
    def command_lines_rise(self) -> bool:
        """True if the command lines certainly rise from task to task as people count, or are equal."""
        return self._rises(self._patterns[str(self._body["commandLine"])])

    def _rises(self, pattern: Pattern) -> bool:
        """Return whether the texts of a pattern certainly rise from task to task, or are equal, as people count."""
        varied = dict.fromkeys(part.parameter for part in pattern if isinstance(part, Placeholder))
        if None in varied:
            return len(pattern) == 1
        rises = all(each.step > 0 and each.start >= 0 for each in self.parameters)
        is_apart = not any(
            isinstance(part, Placeholder) and (isinstance(following, Placeholder) or following[0].isdigit())
            for part, following in pairwise(pattern)
        )
        return not varied or (rises and is_apart and list(varied) == list(range(len(varied))))

    def samples(self) -> tuple[int, ...]:
        """Return the numbers of representative tasks for validation: first, last, longest texts."""
        longest = 0
        for parameter in self.parameters:
            ends = (0, len(parameter) - 1)
            longest = longest * len(parameter) + max(ends, key=lambda index: len(str(parameter[index])))
        return tuple(sorted({0, self.count - 1, longest}))

    def _is_varying(self, part: str | Placeholder) -> bool:
        if isinstance(part, str):
            return False
        return self.count > 1 if part.parameter is None else len(self.parameters[part.parameter]) > 1

    @cached_property
    def _is_readable(self) -> bool:
        """True if ids can be parsed back: no two numbers of unknown length are adjacent."""
        return not any(
            isinstance(part, Placeholder)
            and not self._has_fixed_length(part)
            and (isinstance(following, Placeholder) or following[0].isdigit())
            for part, following in pairwise(self._id)
        )

    def _has_fixed_length(self, part: Placeholder) -> bool:
        if part.parameter is None:
            return False
        ends = (self.parameters[part.parameter][0], self.parameters[part.parameter][-1])
        return min(ends) >= 0 and len(part.text(ends[0])) == len(part.text(ends[1]))

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        parts, seen = [], set()
        for part in self._id:
            if isinstance(part, str):
                parts.append(re.escape(part))
                continue
            digits = r"-?\d{1,20}"
            if part.parameter is not None and self._has_fixed_length(part):
                digits = rf"\d{{{len(part.text(self.parameters[part.parameter][0]))}}}"
            parts.append(
                digits if part.parameter in seen or part.parameter is None else f"(?P<p{part.parameter}>{digits})"
            )
            seen.add(part.parameter)
        return re.compile("".join(parts), re.ASCII | re.IGNORECASE)

    @cached_property
    def _ordinals(self) -> dict[str, int]:
        return {self.task_id(k).casefold(): k for k in range(self.count)}

    def _filled(self, value: Plain, k: int) -> Plain:
        if isinstance(value, str):
            return self._forms[value].text(k, self.values(k))
        if isinstance(value, dict):
            return {key: self._filled(inner, k) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner, k) for inner in value]
        return value
