"""JSON Lines made of a file of events as a table: they must be the lines of the log, to the byte."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine import Simulation
from engine.base.values import format_utc
from engine.views.tables import SCHEMA, file_pieces

OBJECTS = {"body", "error", "failureInfo", "resizeErrors", "values"}
NULLABLE = {"from", "to", "error"}  # in the lines


def check_table(simulation: Simulation, suffix: str) -> None:
    """Fail unless a table of the log holds what its lines hold."""
    content = io.BytesIO(b"".join(file_pieces(simulation, suffix)))
    table = pq.read_table(content) if suffix == ".parquet" else pa.ipc.open_file(content).read_all()
    assert table.schema.equals(SCHEMA)
    lines = list(simulation.json_lines())
    assert list(lines_of(table.to_pylist(), lines)) == lines


def lines_of(rows: Sequence[dict[str, Any]], lines: Sequence[str]) -> Iterator[str]:
    """Yield the rows as lines; the lines of the log tell which events have members that may be null."""
    logged = map(json.loads, lines)
    nulls = {(event["event"], name) for event in logged for name in NULLABLE & event.keys()}
    for row in rows:
        members = (
            f'"{name}":{text_of(name, value)}'
            for name, value in row.items()
            if value is not None or (row["event"], name) in nulls
        )
        yield f"{{{','.join(members)}}}"


def text_of(name: str, value: object) -> str:
    """Return a cell as it stands in a line."""
    if isinstance(value, datetime):
        value = format_utc(value, 0)
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if name in OBJECTS and isinstance(value, str) else json.dumps(value, ensure_ascii=False)
