"""The blobs in storage: containers with their blobs as a list, and all about one blob."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from engine.views.pages.storage import bytes_of_run
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_lines, row
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, cut, line, link, squeeze, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.views.pages.storage import StoredBlob
    from tui.viewmodels.session.session import Session

MOST_BLOBS = 2_000  # in the list: the latest uploads
_SIZE_CELLS, _TIME_CELLS = 8, 10
_LEAST_NAME = 20


def storage_lines(session: Session, cells: int) -> list[Line]:
    """Return the containers at the displayed moment, each with its blobs; of very many blobs the latest uploads."""
    found = session.blobs()
    if not found:
        return [line(Span("There is no blob that has been named or uploaded.", Role.DIM))]
    shown = _latest(found)
    lines = [line(Span(_summary(session, found, len(shown))))]
    for container, blobs in groupby(shown, key=lambda blob: blob.place.container):
        lines += [(), *_container(session, container, list(blobs), cells)]
    return lines


def _latest(found: list[StoredBlob]) -> list[StoredBlob]:
    if len(found) <= MOST_BLOBS:
        return found
    by_time = sorted(found, key=lambda blob: -1 if blob.when_ms is None else blob.when_ms)
    return sorted(by_time[-MOST_BLOBS:], key=lambda blob: blob.place)


def _summary(session: Session, found: Sequence[StoredBlob], shown: int) -> str:
    transferred = bytes_of_run(session.simulation)
    said = f"{fmt.counted(len(found), 'blob')}, {fmt.size(sum(blob.size for blob in found))}"
    if any(transferred):
        said += f"; {fmt.size(transferred.downloaded)} downloaded, {fmt.size(transferred.uploaded)} uploaded"
    return f"{said}; the latest {shown:,} are listed" if shown < len(found) else said


def _container(session: Session, container: str, blobs: Sequence[StoredBlob], cells: int) -> Iterator[Line]:
    """Yield a heading for the container, and a row for each blob."""
    total = f"  {fmt.counted(len(blobs), 'blob')}, {fmt.size(sum(blob.size for blob in blobs))}"
    name = squeeze(container.removeprefix("https://"), max(_LEAST_NAME, cells - len(total)))
    yield line(Span(session.text(name), Role.STRONG), Span(total, Role.DIM))
    widest = max(len(_name(blob)) for blob in blobs)
    for blob in blobs:
        yield cut(_row(session, blob, cells, widest), cells)


def _name(blob: StoredBlob) -> str:
    return blob.place.name or blob.url


def _row(session: Session, blob: StoredBlob, cells: int, name_cells: int) -> Line:
    """Return a blob's size, time of upload, name as a link to its text, and what uploaded it.

    ``name_cells`` is the width of the longest name, so that the uploaders stand in a column if there is room.
    """
    when = session.clock(blob.when_ms) if blob.when_ms is not None else "scenario"
    by = f"  {_uploader(blob)}" if blob.is_uploaded else ""
    by = squeeze(by, max(_LEAST_NAME, cells // 3))
    room = max(_LEAST_NAME, cells - _SIZE_CELLS - _TIME_CELLS - 4 - len(by))
    name = squeeze(_name(blob), room)
    gap = max(0, min(name_cells, room) - len(name)) if by else 0
    uploader = Span(session.text(by), Role.DERIVED)
    if blob.task is not None:
        uploader = uploader._replace(leads_to=ItemRef("task", blob.task))
    return line(
        Span(f"{fmt.size(blob.size):>{_SIZE_CELLS}}  "),
        Span(f"{when:<{_TIME_CELLS}}", Role.DIM),
        link(session.text(name), f"blob({blob.url!r})", Role.PLAIN),
        Span(" " * gap),
        uploader,
    )


def blob_lines(session: Session, blob: StoredBlob, cells: int) -> list[Line]:
    """Return everything about a blob, and its text."""
    rows = [row("URL", blob.url), row("Size", f"{blob.size:,} bytes")]
    if blob.when_ms is None:
        rows.append(row("From", "the scenario"))
    else:
        rows += [row("Uploaded", session.clock(blob.when_ms)), row("By", _uploader(blob))]
    lines = [*block_lines([Block("Blob", tuple(rows))], cells), (), line(Span("Text", Role.STRONG))]
    if blob.text is None:
        return [*lines, line(Span("Only the size is known.", Role.DIM))]
    texts = (piece for each in blob.text.splitlines() or ["(empty)"] for piece in wrapped(each, cells))
    return [*lines, *(line(Span(each)) for each in texts)]


def _uploader(blob: StoredBlob) -> str:
    return f"task {blob.task_id} of {blob.job_id}" if blob.task is not None else "logs of a node"
