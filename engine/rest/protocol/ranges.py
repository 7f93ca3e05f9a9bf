"""Parts of a file: the header ``ocp-range`` (FILE-10)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from engine.rest.protocol.requests import Request

_RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.ASCII | re.IGNORECASE)


def asked(request: Request, size: int) -> range:
    """Return the bytes of a file of this size that a request asks for: by default all.

    ``bytes=5-9`` are five bytes, ``bytes=5-`` all from the sixth on, and ``bytes=-5`` the last five.

    Raises:
        BatchError: InvalidHeaderValue for a header that is no range, InvalidRange for one outside the file.
    """
    text = request.headers.get("ocp-range")
    if text is None:
        return range(size)
    found = _RANGE.fullmatch(text)
    first, last = found.groups() if found is not None else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        reason = "must be a range such as bytes=0-1023"
        raise BatchError("InvalidHeaderValue", reason, HeaderName="ocp-range", HeaderValue=text)
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= size:
        raise BatchError("InvalidRange", f"the file has {size} bytes", HeaderName="ocp-range", HeaderValue=text)
    return range(begin, end)
