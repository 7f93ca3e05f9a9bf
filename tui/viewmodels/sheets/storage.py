"""The blobs in storage, as a list and one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.views.pages.storage import bytes_of_run, stored_blobs
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_lines, row
from tui.viewmodels.text.styled import Line, Role, Span, line, squeeze, wrapped

if TYPE_CHECKING:
    from engine.views.pages.storage import StoredBlob
    from tui.viewmodels.session.session import Session

MOST_BLOBS = 2_000  # in the list: the latest uploads
_SIZE_CELLS = 8
_LEAST_URL = 20
_ENDPOINT = ".blob.core.windows.net"


class BlobList(NamedTuple):
    """The blobs of the list, and what the dialog says above it."""

    blobs: list[StoredBlob]
    heading: str


def blob_list(session: Session) -> BlobList:
    """Return the blobs at the moment that is shown, by URL; of very many the latest uploads."""
    simulation = session.simulation
    found = stored_blobs(simulation)
    transferred = bytes_of_run(simulation)
    said = f"{fmt.counted(len(found), 'blob')}, {fmt.size(sum(blob.size for blob in found))}"
    if any(transferred):
        said += f"; {fmt.size(transferred.downloaded)} downloaded, {fmt.size(transferred.uploaded)} uploaded"
    if len(found) > MOST_BLOBS:
        latest = sorted(found, key=lambda blob: -1 if blob.when_ms is None else blob.when_ms)[-MOST_BLOBS:]
        found = sorted(latest, key=lambda blob: blob.place)
        said += f"; the latest {MOST_BLOBS:,} are listed"
    return BlobList(found, said)


def blob_line(session: Session, blob: StoredBlob, cells: int) -> Line:
    """Return a row of the list in so many cells: size, time of the upload, URL shortened as needed, and task."""
    when = session.clock(blob.when_ms) if blob.when_ms is not None else ""
    size, time = f"{fmt.size(blob.size):>{_SIZE_CELLS}}  ", f"{when or 'scenario':<10}"
    task = squeeze(f"  {_uploader(blob)}", cells // 3) if blob.is_uploaded else ""
    room = max(_LEAST_URL, cells - len(size + time + task))
    url = blob.url.removeprefix("https://")
    url = squeeze(url if len(url) <= room else url.replace(_ENDPOINT, "", 1), room)
    return line(Span(size), Span(time, Role.DIM), Span(session.text(url)), Span(session.text(task), Role.DERIVED))


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
