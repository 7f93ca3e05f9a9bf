"""Formats of numbers, times and ids, and words for events and commands: ``resize pool shared to 20``."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.base.values import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    currency_sign,
    format_money,
    format_span,
    format_time,
    lazy_regex,
    parse_duration,
    parse_utc,
    quoted,
    shortened,
)
from engine.scenario.record import values_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.scenario.model import Scenario
    from engine.specs.command import Command
    from engine.views.resources.events import EventRow

money = format_money  # ``$12.50``, ``$0.064``, ``EUR 12.50``
_time = lru_cache(maxsize=4096)(format_time)  # a frame shows the times of the one before
_span = lru_cache(maxsize=4096)(format_span)  # likewise
_CLASSIC_NODE = lazy_regex(r"(tvm)-\d+_(\d+)-.*")
_NODE = lazy_regex(r"(tvmps_)([0-9a-f]{6})[0-9a-f]*(_[a-z]+)?")
_SECONDS = lazy_regex(r"\d+(\.\d+)?")
_CLOCK = lazy_regex(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_CLOCK_SPAN = lazy_regex(r"(?:(\d+)d )?(\d{1,3}):(\d{2}):(\d{2})", re.ASCII)
_NUMBER = r"(\d+(?:\.\d+)?)"
_IN_UNITS = lazy_regex(
    rf"(?:{_NUMBER} *d(?:ays?)?)? *(?:{_NUMBER} *h(?:ours?)?)? *(?:{_NUMBER} *m(?:in(?:utes?)?)?)?"
    rf" *(?:{_NUMBER} *s(?:ec(?:onds?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_SHORT_OF_UNIT = lazy_regex(r".*\d *([dhm])\d+", re.ASCII | re.IGNORECASE)
_NEXT_UNIT = {"d": "h", "h": "m", "m": "s"}
_UNITS_MS = (DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS)
_LIKE_CLOCK = lazy_regex(r"\d+(:\d+){1,2}", re.ASCII)
_NAMED_MOMENTS = ("start", "end", "failure", "next failure")
_MOMENTS = "write +5m, -30s, 10:42, PT5M, start, end or failure"


@cache
def _help() -> dict[str, str]:
    chapters = Path(__file__).with_name("help.md").read_text(encoding="utf-8").removeprefix("# ").split("\n# ")
    return dict(chapter.strip().split("\n\n", 1) for chapter in chapters)


def help_on(chapter: str) -> str:
    """Return the help on a view, a dialog or a figure; each line of it is a paragraph."""
    return _help()[chapter]


def clock(start: datetime, ms: int | None) -> str:
    """Return the time of day, ``10:42:17``, with the date after the first day. Empty for None."""
    return "" if ms is None else _time(start, ms)


def date_and_clock(start: datetime, ms: int) -> str:
    """Return date and time, ``2026-01-05 10:42:17``."""
    return (start + timedelta(milliseconds=ms)).strftime("%Y-%m-%d %H:%M:%S")


_ROUND_MS = (
    *(each * SECOND_MS for each in (1, 2, 5, 10, 15, 20, 30)),
    *(each * MINUTE_MS for each in (1, 2, 5, 10, 15, 20, 30)),
    *(each * HOUR_MS for each in (1, 2, 3, 6, 12)),
    *(each * DAY_MS for each in (1, 2, 7, 14, 28)),
)


def round_moments(begin_ms: int, end_ms: int, least_ms: int) -> range:
    """Return the round moments before an end, evenly and at least so far apart, in ms since the start."""
    every_ms = next((each for each in _ROUND_MS if each >= least_ms), max(1, least_ms))
    return range(-(-begin_ms // every_ms) * every_ms, end_ms, every_ms)


def span(ms: int | None) -> str:
    """Return a duration, ``00:41:50`` or ``2d 03:04:05``. Empty for None."""
    return "" if ms is None else _span(ms // SECOND_MS * SECOND_MS)


def short_span(ms: int) -> str:
    """Return a duration in few cells: ``8 s``, ``2:05``, ``1:02:05``, ``2d 03:04``."""
    if ms < MINUTE_MS:
        return f"{ms // SECOND_MS} s"
    return span(ms)[:-3] if ms >= DAY_MS else span(ms).removeprefix("00:").removeprefix("0")


def in_words(ms: int) -> str:
    """Return a duration in its largest unit that divides it: ``7 days``, ``90 minutes``; else as ``span``."""
    for unit_ms, name in ((DAY_MS, "day"), (HOUR_MS, "hour"), (MINUTE_MS, "minute"), (SECOND_MS, "second")):
        if ms % unit_ms == 0 and ms:
            count = ms // unit_ms
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    return span(ms)


def size(count: int) -> str:
    """Return a number of bytes in units of 1000: ``58 B``, ``4.8 KB``, ``12 GB``."""
    value, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if round(value, 1) < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if unit != "B" and value < 99.95 else f"{value:.0f} {unit}"


_LEAST_COST = 1e-5  # of a difference


def compared_money(one: float, other: float, currency: str) -> tuple[str, str, str]:
    """Return two amounts, with as many digits as their difference needs to be seen, and the difference.

    That is ``+$12.50`` or ``-$0.064``, from the first to the second; it is empty if they are the same.
    """
    texts = money(one, currency), money(other, currency)
    if abs(other - one) < _LEAST_COST:
        return *texts, ""
    if texts[0] == texts[1]:  # the difference is in later digits
        decimals, sign = len(money(abs(one - other)).partition(".")[2]), currency_sign(currency)
        texts = f"{sign}{one:,.{decimals}f}", f"{sign}{other:,.{decimals}f}"
    return *texts, f"{'+' if other >= one else ''}{money(other - one, currency)}"


def optional(value: object) -> str:
    """Return the value as text; empty for None."""
    return "" if value is None else str(value)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 node``, ``1,234 nodes``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short_node(node_id: str) -> str:
    """Return a node id without its middle: ``tvm-…_117``, ``tvmps_0ae939…_d``."""
    classic = _CLASSIC_NODE.fullmatch(node_id)
    if classic:
        return f"{classic[1]}-…_{classic[2]}"
    modern = _NODE.fullmatch(node_id)
    return f"{modern[1]}{modern[2]}…{modern[3] or ''}" if modern else node_id


def node_name(position: int, node_id: str) -> str:
    """Return a node's index in its pool, as scenarios use it, and its shortened id."""
    return f"{f'n{position}':<4} {short_node(node_id)}"


def parse_moment(text: str, start: datetime, now_ms: int, end_ms: int | None = None) -> int:
    """Return the ms after the start that ``text`` names.

    ``+5m`` and ``-30s`` count from now, and may lead out of the run; ``300``, ``5m`` and ``PT5M`` count from the start.
    ``10:42`` is a time of day: if several are inside the run, that of the present day, else the nearest one. Anything
    else must be a UTC time.

    Args:
        text: What was typed.
        start: The start of the run.
        now_ms: The present moment, in ms after the start.
        end_ms: The end of the run, or as far as it has come, in ms after the start; None while neither is known.

    Raises:
        ValueError: The text is no time, or a time before the run. The message is a sentence for the user.
    """
    text = text.strip()
    if not text:
        raise ValueError(f"No time was typed: {_MOMENTS}.")
    if text[:1] in ("+", "-"):
        sign = 1 if text[0] == "+" else -1
        return now_ms + sign * duration_ms(text[1:])
    of_day = _CLOCK.fullmatch(text)
    if of_day:
        hours, minutes, seconds = (int(part or 0) for part in of_day.groups())
        today = (start + timedelta(milliseconds=now_ms)).replace(hour=0, minute=0, second=0, microsecond=0)
        moment = today + timedelta(hours=hours, minutes=minutes, seconds=seconds)
        when_ms = _inside_run((moment - start) // timedelta(milliseconds=1), now_ms, end_ms)
        if when_ms < 0:
            since_start = f"{hours}m{minutes}s" if of_day[3] is None else f"{hours}h{minutes}m{seconds}s"
            raise ValueError(
                f"{text} is before the run, which begins at {clock(start, 0)}; {since_start} counts from it."
            )
        return when_ms
    with suppress(ValueError):
        return duration_ms(text)
    try:
        when_ms = (parse_utc(text) - start) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise ValueError(f"{quoted(text)} is not a time: {_MOMENTS}.") from None
    if when_ms < 0:
        raise ValueError(f"{text} is before the run, which begins at {date_and_clock(start, 0)}.")
    return when_ms


def names_moment(text: str) -> bool:
    """Return whether ``text`` is written like a moment to go to, be it inside the run or not."""
    text = text.strip()
    if text in _NAMED_MOMENTS or _LIKE_CLOCK.fullmatch(text):
        return True
    for read in (duration_ms, parse_utc):
        with suppress(ValueError, OverflowError):
            read(text[1:] if text[:1] in ("+", "-") else text)
            return True
    return False


def _inside_run(today_ms: int, now_ms: int, end_ms: int | None) -> int:
    """Return the moment of the present day, or on the nearest day where the same time of day is inside the run."""
    inside = range(today_ms % DAY_MS, (today_ms if end_ms is None else end_ms) + 1, DAY_MS)
    return today_ms if today_ms in inside else min(inside, key=lambda ms: abs(ms - now_ms), default=today_ms)


def duration_ms(text: str) -> int:
    """Return the ms of ``5m``, ``1h30m``, ``1h30``, ``90s``, ``45`` (seconds), ``00:02:00`` or an ISO 8601 duration.

    Raises:
        ValueError: The text is no such duration. The message is a sentence for the user.
    """
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return int(float(text) * SECOND_MS)
    if text[:1].upper() == "P":
        with suppress(ValueError):
            return parse_duration(text) or 0
    as_clock = _CLOCK_SPAN.fullmatch(text)
    if as_clock:
        days, hours, minutes, seconds = (int(part or 0) for part in as_clock.groups())
        return days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS
    short = _SHORT_OF_UNIT.fullmatch(text)
    in_units = _IN_UNITS.fullmatch(f"{text}{_NEXT_UNIT[short[1].lower()]}" if short else text)
    if in_units and text:
        return int(sum(float(part or 0) * unit for part, unit in zip(in_units.groups(), _UNITS_MS, strict=True)))
    raise ValueError(f"{quoted(text)} is not a duration: write 90s, 2m, 1h30m or PT2M")


_ANNOUNCEMENT = "SPOT-10"  # of an eviction by chance
_COMMANDS = ("CommandAccepted", "CommandRefused", "FaultInjected")


def described(event: EventRow) -> str:
    """Return the content of an event, with its command or fault if there is one, without its entity."""
    is_by_process = event.task is not None or event.node is not None
    command = event.fields.get("command") if event.event in _COMMANDS and not is_by_process else None
    return f"{command or ''} {what(event)}".strip()


def what(event: EventRow) -> str:
    """Return the content of an event, without its entity and without the name of a command."""
    fields = event.fields
    words: list[str] = []
    said = _said(event)
    if said is not None:
        return said
    if "to" in fields:
        old, new = fields.get("from"), fields["to"]
        if new is None:
            words.append(f"{old} → gone" if old else "gone")
        else:
            words.append(f"{old} → {new}" if old else f"{new}")
    if event.task_id is not None and event.node_id is not None:
        words.append(f"on n{event.position}")
    if "exitCode" in fields and (fields["exitCode"] or fields.get("result") == "failure"):
        words.append(f"exit {fields['exitCode']}")
    failure = fields.get("failureInfo")
    if isinstance(failure, dict) and failure.get("code") != "FailureExitCode":
        words.append(str(failure.get("code")))
    attempt = fields.get("attempt")
    if isinstance(attempt, int) and attempt > 1:
        words.append(f"attempt {attempt:,}")
    words += _reason(fields)
    words += _sizes(fields)
    return " ".join(words)


def _sizes(fields: dict[str, object]) -> list[str]:
    """Return present and wanted nodes of a resize, those of a kind that the pool neither has nor wants left out."""
    kinds = (("dedicated", "DedicatedNodes"), ("Spot", "LowPriorityNodes"))
    sizes = [(kind, fields.get(f"current{name}", 0), fields.get(f"target{name}", 0)) for kind, name in kinds]
    shown = [f"{now:,} of {wanted:,} {kind}" for kind, now, wanted in sizes if now or wanted]
    return [", ".join(shown or ["0 nodes"])] if "targetDedicatedNodes" in fields else []


def _reason(fields: dict[str, object]) -> list[str]:
    """Return the reason of a change, after the occurrence of a job schedule that was missed for it (JS-15)."""
    missed = [f"occurrence {fields['occurrence']} missed:"] if "occurrence" in fields else []
    return [*missed, str(fields["reason"])] if fields.get("reason") else missed


def _said(event: EventRow) -> str | None:
    """Return the content of an event that is no change of a state; None of any other."""
    fields = event.fields
    match event.event:
        case "FaultInjected" if event.node is not None:
            announced = ", announced" if fields.get("rule") == _ANNOUNCEMENT else ""
            return f"{fields.get('command')} by chance{announced}"
        case "CommandAccepted" | "FaultInjected":
            process = _given_by_process(event)
            return f"{process}{_arguments(fields.get('body'), names_item=bool(process))}".strip()
        case "CommandRefused" | "TaskScheduleFail":
            return f"{_given_by_process(event)}{fields.get('code')}: {_refused(fields) or fields.get('message', '')}"
        case "AutoScaleEvaluated":
            return _evaluation(fields)
        case "BlobUploaded":
            return f"{size(int(str(fields['bytes'])))} to {str(fields['url']).split('/', 3)[-1]}"  # container and blob
    return None


def _given_by_process(event: EventRow) -> str:
    """Return the name of a command that a process has given (JM-11): the entity of its event is that process."""
    is_given = event.event.startswith("Command") and (event.task is not None or event.node is not None)
    return f"{event.fields.get('command')} " if is_given else ""


def _arguments(body: object, *, names_item: bool) -> str:
    """Return the arguments of a command or fault; an application and its version need no names.

    The id of what is created is the entity of the event, unless a process has given the command.
    """
    if not isinstance(body, dict):
        return ""
    if not names_item:
        body = {name: value for name, value in body.items() if name != "id"}
    if "applicationId" not in body:
        return " ".join(f"{name} {_short(value)}" for name, value in body.items())
    count = body.get("size")
    shown = body | {"size": size(count)} if isinstance(count, int) else body
    unnamed = ("applicationId", "version")
    return " ".join(_short(value) if name in unnamed else f"{name} {_short(value)}" for name, value in shown.items())


def _refused(fields: dict[str, object]) -> str:
    """Return the last part of the property that the service did not accept and the reason; empty without a reason."""
    values = refusal_values(fields)
    name = values.get("PropertyName", "").rpartition(".")[2]
    return f"{name} {values['Reason']}".strip() if "Reason" in values else ""


def refusal_values(fields: dict[str, object]) -> dict[str, str]:
    """Return the ``values`` of a refusal by their keys (GEN-10)."""
    values = fields.get("values")
    pairs = values if isinstance(values, list) else []
    return {str(pair["key"]): str(pair["value"]) for pair in pairs if isinstance(pair, dict)}


def _evaluation(fields: dict[str, object]) -> str:
    error = fields.get("error")
    if isinstance(error, dict):
        said = f"{error['code']}: {error['values'][0]['value']}"
    else:
        kinds = (("dedicated", "Dedicated"), ("Spot", "LowPriority"))
        changes = ((kind, fields[f"current{name}Nodes"], fields[f"target{name}Nodes"]) for kind, name in kinds)
        said = ", ".join(f"{now} → {wanted} {kind}" for kind, now, wanted in changes)
    return f"trial: {said}" if "trial" in fields else said


def _short(value: object) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else f"[{len(value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else shortened(str(value))


_CAPITAL = lazy_regex(r"(?<=[a-z])([A-Z])")
_KINDS = ("pool", "node", "job schedule", "job", "task", "certificate", "application package", "application")
_IDS = ("poolId", "jobScheduleId", "jobId", "taskId", "applicationId", "thumbprint", "id")
_MOST_NAMED = 2


def command_words(command: Command) -> str:
    """Return what a command does, to what, as a person would say it."""
    return words_of(command.NAME, command.wire())


def words_of(name: str, body: Mapping[str, Any]) -> str:
    """Return a command, by its name on the wire and its body, in words."""
    verb = _CAPITAL.sub(lambda found: " " + found[1].lower(), name).replace("auto scale", "autoscale")
    match name:
        case "resizePool":
            return f"resize pool {body['poolId']} to {_size(body)}"
        case "addTasks":
            return f"add {_number_of_tasks(body)} to {body['jobId']}"
        case "removeNodes":
            return f"remove {counted(len(body.get('nodeList', ())), 'node')} from {body['poolId']}"
    subject = _subject(body)
    kind = next((kind for kind in _KINDS if f" {kind}" in verb), "")
    if kind and subject:
        before, _, after = verb.partition(f" {kind}")
        return f"{before} {kind} {subject}{after}"
    return f"{verb} {subject}".strip()


def summed_up(commands: Sequence[Command], refused: Mapping[int, str]) -> str:
    """Return what was done: the first commands in words, and the number of the others; empty for none.

    ``refused`` has the codes of those that were refused, by identity.
    """
    codes = [refused.get(id(command)) for command in commands[:_MOST_NAMED]]
    words = zip(map(command_words, commands), codes, strict=False)
    named = [f"{said} (refused: {code})" if code else said for said, code in words]
    rest = len(commands) - len(named)
    return ", ".join([*named, f"{rest:,} more"] if rest else named)


def _size(body: Mapping[str, Any]) -> str:
    dedicated, spot = body.get("targetDedicatedNodes"), body.get("targetLowPriorityNodes")
    if spot is None:
        return f"{dedicated:,}" if dedicated is not None else "the same size"
    return f"{spot:,} Spot nodes" if dedicated is None else f"{dedicated:,} dedicated and {spot:,} Spot nodes"


def _number_of_tasks(body: Mapping[str, Any]) -> str:
    tasks = body.get("tasks")
    return counted(len(tasks), "task") if tasks else "tasks"


def _subject(body: Mapping[str, Any]) -> str:
    if "node" in body or "nodeId" in body:
        node = f"n{body['node']}" if "node" in body else short_node(str(body["nodeId"]))
        return f"{node} of {body['poolId']}"
    if "taskId" in body and "jobId" in body:
        return f"{body['taskId']} of {body['jobId']}"
    return next((str(body[name]) for name in _IDS if name in body), "")


def variant_note(scenario: Scenario) -> str:
    """Return which variant a scenario is, with its values; empty if it is none."""
    variant = scenario.variant
    return "" if variant is None else f"variant {variant.number:,}: {values_text(variant.values)}"
