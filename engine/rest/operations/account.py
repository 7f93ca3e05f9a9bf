"""The operations on the account: supported images, applications, usage."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.units import HOUR_MS, parse_utc
from engine.rest.operations.common import one
from engine.rest.protocol import paging, requests
from engine.specs.images import IMAGES
from engine.views.rest.account import application_body, image_body, usage_body

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call, Handler

_KNOWN_AFTER_MS = 2 * HOUR_MS


def list_supported_images(call: Call) -> Answer:
    """Answer with a page of the images with which pools can still be created (POOL-26)."""
    now = call.moment(call.now_ms)

    def after(number: int) -> Iterator[tuple[int, Body]]:
        listed = islice(enumerate(IMAGES), number + 1, None)
        return ((at, image_body(image)) for at, image in listed if not image.has_ended(now))

    return paging.page(call, "supportedimages", after, -1)


def list_applications(call: Call) -> Answer:
    """Answer with a page of the applications (APP-1)."""
    applications = {each.id.lower(): each for each in call.world.account.applications}

    def after(last: str) -> Iterator[tuple[str, Body]]:
        return ((key, application_body(applications[key])) for key in sorted(applications) if key > last)

    return paging.page(call, "applications", after, "")


def get_application(call: Call) -> Answer:
    """Answer with one application."""
    wanted = call.names["applicationId"]
    found = next((each for each in call.world.account.applications if each.id.lower() == wanted.lower()), None)
    if found is None:
        raise BatchError("ApplicationNotFound", applicationId=wanted)
    return one(call, "applications", application_body(found), None)


def list_pool_usage_metrics(call: Call) -> Answer:
    """Answer with a page of the core hours of each pool, also of deleted ones, that existed in a time.

    Usage is known two hours later: that is the end of the time, unless the request gives one.
    """
    world, start, now = call.world, call.moment(0), call.moment(call.now_ms)
    begin, end = _time(call, "startTime") or start, _time(call, "endtime") or call.moment(call.now_ms - _KNOWN_AFTER_MS)
    if end < begin and "endtime" in call.query:
        raise requests.bad_parameter("endtime", call.query["endtime"], "must not be before startTime")

    def after(row: int) -> Iterator[tuple[int, Body]]:
        for pool in paging.after(world.pools.rows, row):
            gone = now if pool.gone_ms is None else call.moment(pool.gone_ms)
            if call.moment(pool.created_ms) <= end and gone >= begin:
                yield pool.row, usage_body(world, pool, call.now_ms)

    return paging.page(call, "poolusagemetrics", after, -1)


def _time(call: Call, name: str) -> datetime | None:
    """Return the time that a query parameter gives, None where it is absent."""
    text = call.query.get(name.lower())
    if text is None:
        return None
    try:
        return parse_utc(text)
    except ValueError as error:
        raise requests.bad_parameter(name, text, str(error)) from None


HANDLERS: dict[str, Handler] = {
    "list_supported_images": list_supported_images,
    "list_applications": list_applications,
    "get_application": get_application,
    "list_pool_usage_metrics": list_pool_usage_metrics,
}
