"""The rows of a comparison: each figure of both sides, with their difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.comparison.figures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.comparison.figures import Figures

_DECIMALS, _PERCENT_DECIMALS = 9, 6  # beyond these there is only the error of binary fractions


class Change(NamedTuple):
    """The difference of two numbers, B minus A, and its percent of A; None where there is none."""

    difference: float | None
    percent: float | None


class Row(NamedTuple):
    """A figure of both sides, its difference, B minus A, and the percent of A. A job's end has its id as ``job_id``."""

    what: str
    a: float | None
    b: float | None
    difference: float | None
    percent: float | None
    job_id: str | None = None

    @property
    def weight(self) -> float:
        """The size of the difference as a share of the larger value, 0 to 1, by which differences are ranked."""
        if self.a is None or self.b is None or not self.difference:
            return 0.0
        return abs(self.difference) / max(abs(self.a), abs(self.b))


def change(a: float | None, b: float | None) -> Change:
    """Return the change from ``a`` to ``b``."""
    if a is None or b is None:
        return Change(None, None)
    difference = round(b - a, _DECIMALS)
    return Change(difference, round(100 * difference / a, _PERCENT_DECIMALS) if a else None)


def compared(a: Figures, b: Figures) -> list[Row]:
    """Return a row for each measure, and one for the end of each job of either side, in the order of A, then of B.

    The row of a job that is on both sides has the id that A gives it.
    """
    rows = [row(name, a.measures[name], b.measures[name]) for name in MEASURES]
    there = _same_jobs(a.job_ends, b.job_ends)
    ends = [(job_id, end, b.job_ends.get(there.get(job_id, ""))) for job_id, end in a.job_ends.items()]
    only_there = b.job_ends.keys() - there.values()
    ends += [(job_id, None, end) for job_id, end in b.job_ends.items() if job_id in only_there]
    return rows + [row(f"jobs.{job_id}.endSeconds", one, other, job_id) for job_id, one, other in ends]


def _same_jobs(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    """Return the other side's id of each of our jobs that is there, under the same id or that which an import gives.

    Case does not matter (GEN-1). A job of a job schedule has a colon in its id, for which an import writes a hyphen.
    """
    found: dict[str, str] = {}
    for comparable in (str.casefold, _as_imported):
        taken = set(found.values())
        there = {comparable(job_id): job_id for job_id in theirs if job_id not in taken}
        left = [job_id for job_id in ours if job_id not in found]
        found |= {job_id: there[comparable(job_id)] for job_id in left if comparable(job_id) in there}
    return found


def _as_imported(job_id: str) -> str:
    return job_id.casefold().replace(":", "-")


def row(what: str, a: float | None, b: float | None, job_id: str | None = None) -> Row:
    """Return the row of a figure."""
    return Row(what, a, b, *change(a, b), job_id)


def largest(rows: Iterable[Row], count: int) -> list[Row]:
    """Return the rows with the largest differences, the largest first; equal ones in their order."""
    return sorted((one for one in rows if one.weight), key=lambda one: -one.weight)[:count]


def as_json(a: str, b: str, rows: Sequence[Row]) -> Mapping[str, object]:
    """Return a comparison as ``batchdeck compare --output json`` prints it; ``a`` and ``b`` name the sides."""
    return {
        "a": a,
        "b": b,
        "rows": [{name: getattr(one, name) for name in ("what", "a", "b", "difference", "percent")} for one in rows],
    }
