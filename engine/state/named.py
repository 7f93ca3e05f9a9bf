"""Records with an id: pools, jobs and job schedules. A deleted one keeps its row and gives up its id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from engine.events.log import EventLog
from engine.state.columns import Record, Records, Values


class Named(Record):
    """A record with an id, its number in the table, and a state, which is None once it is gone."""

    __slots__ = ()
    id: str
    row: int
    state: object


N = TypeVar("N", bound=Named)


class NamedRecords(Records[N], Generic[N]):
    """All records of one kind, deleted ones included, in the order in which they were added."""

    def __init__(self, kind: type[N], log: EventLog) -> None:
        """Make a table without records, which will be of this class."""
        super().__init__(kind)
        self.log = log
        self._by_id: dict[str, int] = {}

    def find(self, name: str) -> N | None:
        """Return the record of this id, in any case (GEN-1); None if there is none."""
        row = self._by_id.get(name.lower())
        return self.rows[row] if row is not None else None

    def latest(self, name: str) -> N | None:
        """Return the record of this id, or the last deleted one that had it; None if there never was one."""
        wanted = name.lower()
        return self.find(wanted) or next((one for one in reversed(self.rows) if one.id.lower() == wanted), None)

    def present(self) -> Iterator[N]:
        """Return the records that have not been deleted."""
        return (record for record in self.rows if record.state is not None)

    def add(self, record: N) -> int:
        """Append a record, which can be found by its id from now on; return its row."""
        self._by_id[record.id.lower()] = record.row
        return super().add(record)

    def give_up_id(self, record: N) -> None:
        """Free the id of a record that is gone."""
        del self._by_id[record.id.lower()]

    def restore(self, copy: list[Values]) -> None:
        """Restore the records from a copy."""
        super().restore(copy)
        self._by_id = {record.id.lower(): record.row for record in self.present()}
