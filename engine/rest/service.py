"""The service: a request goes in, an answer comes out, and the simulation has changed.

Requests are authenticated by the scheme SharedKey, or by a bearer token that this server has issued (ACC-1). A
scenario may let the endpoint itself fail, to test the loops of its clients (GEN-22). The handler of an operation is
found by its route; to add an operation, add it to the table of routes of its resource.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import re
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, unquote_plus
from uuid import uuid4

from engine.base.errors import BatchError
from engine.base.values import SECOND_MS, format_duration, format_utc, quoted, words
from engine.rest import jobs, messages, pools
from engine.rest.handlers import Call, Latest
from engine.rest.messages import LONGEST_BODY, Answer
from engine.rest.session import KeptFiles, not_found, shifted
from engine.specs.draws import draw_ms, uniform
from engine.views.rest.account import account_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from engine.rest.handlers import Route
    from engine.rest.messages import Request
    from engine.rest.session import Present
    from engine.run.simulation import Simulation
    from engine.specs.common import SimulateService


DEFAULT_ACCOUNT = "localbatch"
DEFAULT_KEY = "bG9jYWwtYmF0Y2gta2V5LTAxMjM0NTY3ODk="

_SIGNED_HEADERS = words(
    "content-encoding content-language content-length content-md5 content-type date if-modified-since if-match "
    "if-none-match if-unmodified-since range"
)


MOST_SKEW_S = 15 * 60
"""The seconds by which the date of a signed request may differ from the wall clock, as in the service."""


class Credentials(NamedTuple):
    """The name and key of the account, and what says what is wrong with a bearer token, "" for a good one.

    With ``any_key`` every signature and every token is valid, of whatever account and date.
    """

    account: str = DEFAULT_ACCOUNT
    key: str = DEFAULT_KEY
    any_key: bool = False
    token_fault: Callable[[str], str] = lambda _: "this server issues no tokens without --tls; --any-key accepts any"
    job_tokens: Mapping[str, str] = MappingProxyType(
        {}
    )  # the job, in lower case, that the token of one of its tasks opens


def check_credentials(request: Request, credentials: Credentials, now_s: float) -> None:
    """Refuse a request that is not signed with the account's key at this time, and has no token of this server.

    Args:
        request: The request.
        credentials: Those of the account.
        now_s: The wall clock, in seconds since the epoch.

    Raises:
        BatchError: Unauthorized without a header, InvalidAuthenticationInfo for an unreadable one, AuthenticationFailed
            for another account, date, signature or token.
    """
    header = request.headers.get("authorization")
    if header is None:
        if credentials.any_key:
            return
        raise BatchError("Unauthorized", "the request has no Authorization header")
    scheme, _, given = header.partition(" ")
    given = given.strip()
    if scheme.lower() == "bearer" and given in credentials.job_tokens:
        _check_job(request.path, credentials.job_tokens[given])
        return
    if scheme.lower() == "bearer" and given:
        _check_token(given, credentials.any_key, credentials.token_fault)
        return
    account, colon, signature = given.rpartition(":")
    if scheme.lower() != "sharedkey" or not (account and colon):
        raise BatchError("InvalidAuthenticationInfo", "must be SharedKey ACCOUNT:SIGNATURE, or Bearer TOKEN")
    try:
        sent = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        raise BatchError("InvalidAuthenticationInfo", "the signature is not base64") from None
    if credentials.any_key:
        return
    if account.lower() != credentials.account.lower():
        raise BatchError("AuthenticationFailed", f"the account here is {credentials.account}")
    _check_date(request, now_s)
    key = base64.b64decode(credentials.key)
    for text in texts_to_sign(request, account):
        if hmac.compare_digest(_digest(key, text), sent):
            return
    raise BatchError("AuthenticationFailed", "the signature does not match the request and the account's key")


def _check_job(path: str, job: str) -> None:
    """Refuse a task's token for anything but its own job. Raises BatchError: AuthenticationFailed."""
    own = f"/jobs/{job}"
    if not f"{unquote(path).lower()}/".startswith(f"{own}/"):
        raise BatchError("AuthenticationFailed", f"the token of a task opens its own job alone, which is {job}")


def check_bearer(request: Request, *, any_key: bool, token_fault: Callable[[str], str]) -> None:
    """Refuse a request without a good bearer token. Raises BatchError: Unauthorized or AuthenticationFailed."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if not any_key and scheme.lower() != "bearer":
        raise BatchError("Unauthorized", "the request has no bearer token")
    _check_token(given.strip(), any_key, token_fault)


def _check_token(token: str, any_key: bool, token_fault: Callable[[str], str]) -> None:
    fault = "" if any_key else token_fault(token)
    if fault:
        error = BatchError("AuthenticationFailed", fault)
        error.status = 401  # the service answers so for tokens, and 403 for signatures
        raise error


def _check_date(request: Request, now_s: float) -> None:
    """Refuse a request that was signed too long ago, or in the future; its date is part of what is signed.

    Raises:
        BatchError: AuthenticationFailed.
    """
    date = request.headers.get("ocp-date") or request.headers.get("date") or ""
    age_s = now_s - _epoch_s(date[: messages.LONGEST_DATE])
    if abs(age_s) <= MOST_SKEW_S:
        return
    if not date:
        raise BatchError("AuthenticationFailed", "the request has neither the header ocp-date nor Date")
    if math.isnan(age_s):
        raise BatchError("AuthenticationFailed", f"the request date header {quoted(date)} must be {messages.A_DATE}")
    wrong = "too old" if age_s > 0 else "too far in the future"
    reason = f"request date header {wrong}: {quoted(date)} differs by more than 15 minutes from the clock here"
    raise BatchError("AuthenticationFailed", reason)


@lru_cache(64)  # clients send many requests in a second
def _epoch_s(date: str) -> float:
    """Return the seconds from the epoch to a date, NaN for another text."""
    moment = messages.moment_of(date)
    return math.nan if moment is None else moment.timestamp()


def signature(request: Request, account: str, key: str) -> str:
    """Return the signature of a request as the Python clients compute it."""
    return base64.b64encode(_digest(base64.b64decode(key), next(texts_to_sign(request, account)))).decode()


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)


def texts_to_sign(request: Request, account: str) -> Iterator[str]:
    """Yield the texts that different clients sign for the same request.

    Python and JavaScript keep the case of parameter names; .NET and Java put names and account in lower case. In a
    value, a plus is a blank for those that encode forms and a plus for the others.
    """
    headers = request.headers
    signed = [request.method, *(headers.get(name, "") for name in _SIGNED_HEADERS)]
    signed += [f"{name}:{value.strip()}" for name, value in sorted(headers.items()) if name.startswith("ocp-")]
    decoders = (unquote_plus, unquote) if "+" in request.query_string else (unquote_plus,)
    for decode in decoders:
        yield "\n".join([*signed, f"/{account}{request.path}", *_parameter_lines(request, str, decode)])
        for name in {account, account.lower()}:
            yield "\n".join([*signed, f"/{name}{request.path}", *_parameter_lines(request, str.lower, decode)])


def _parameter_lines(request: Request, spell: Callable[[str], str], decode: Callable[[str], str]) -> list[str]:
    pairs = (part.partition("=") for part in request.query_string.split("&") if part)
    named = sorted((spell(decode(name)), decode(value)) for name, _, value in pairs)
    return [f"{name}:{value}" for name, value in named]


class ServiceFaults:
    """Decides which requests fail, are refused or have to wait.

    The chance of a request depends on the seed, its operation and its number among the requests of that operation, so
    that a client's other requests do not change it.
    """

    def __init__(self, settings: SimulateService, seed: int, now_s: Callable[[], float]) -> None:
        """Create it before the first request. ``now_s`` returns the clients' time in seconds."""
        self._settings = settings
        self._seed = seed
        self._now_s = now_s
        self._numbers: Counter[str] = Counter()  # of requests, by operation
        self._most_tokens = max(1.0, settings.throttle or 0.0)
        self._tokens = self._most_tokens  # a request takes one; they come back at the rate of the throttle
        self._filled_s = now_s()

    def check(self, operation: str) -> None:
        """Let a request pass, or refuse it.

        Raises:
            BatchError: ServerBusy beyond the throttle, or InternalError by chance.
        """
        self._numbers[operation] += 1
        if self._settings.throttle is not None and not self._take_token(self._settings.throttle):
            reason = f"there are more than {self._settings.throttle:g} requests a second (simulate.service.throttle)"
            raise BatchError("ServerBusy", reason)
        chance = uniform(self._seed, "service error", operation, self._numbers[operation])
        if chance < self._settings.error_rate:
            raise BatchError("InternalError", "by chance (simulate.service.errorRate)")

    def delay_s(self, operation: str) -> float:
        """Return the seconds after which the client gets the answer to the last request of an operation."""
        if self._settings.latency is None:
            return 0.0
        chance = uniform(self._seed, "service latency", operation, self._numbers[operation])
        return draw_ms(self._settings.latency, chance) / SECOND_MS

    def _take_token(self, rate: float) -> bool:
        """Take a token if one is available; return whether it was."""
        now_s = self._now_s()
        self._tokens = min(self._most_tokens, self._tokens + max(0.0, now_s - self._filled_s) * rate)
        self._filled_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def _distance(ahead: timedelta) -> str:
    """Return how far simulated time is from the clock here."""
    distance = format_duration(abs(ahead) // timedelta(seconds=1) * SECOND_MS)
    return f"{distance} {'ahead' if ahead > timedelta(0) else 'behind'}"


CURRENT = (
    *pools.ACCOUNT_ROUTES,
    *pools.POOL_ROUTES,
    *pools.NODE_ROUTES,
    *jobs.JOB_ROUTES,
    *jobs.JOB_SCHEDULE_ROUTES,
    *jobs.TASK_ROUTES,
    *jobs.FILE_ROUTES,
)
"""The operations of API version 2025-06-01, by their ids in its schema (GEN-11, GEN-18)."""

ROUTES = (*CURRENT, *pools.OLDER_ROUTES, *jobs.OLDER_JOB_ROUTES)


_PARAMETER = re.compile(r"\\\{(\w+)\\\}")
_LONGEST_PATH = 8192


def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of a path that is still percent-encoded.

    A parameter is one segment. Only the path of a file may contain slashes: some clients do not encode them.
    """

    def group(parameter: re.Match[str]) -> str:
        name = parameter[1]
        characters = "." if name == "filePath" else "[^/,)]" if name.startswith("thumbprint") else "[^/]"
        return f"(?P<{name}>{characters}+)"

    return re.compile(_PARAMETER.sub(group, re.escape(path)) + "/?", re.IGNORECASE | re.DOTALL)


def _collection(path: str) -> str:
    """Return the first segment of a path in lower case, without the parameters of a certificate."""
    return path.split("/", 2)[1].partition("(")[0].lower() if path.startswith("/") else ""


def _by_collection(routes: Iterable[Route]) -> dict[str, list[tuple[re.Pattern[str], Route]]]:
    table: dict[str, list[tuple[re.Pattern[str], Route]]] = {}
    for route in routes:
        table.setdefault(_collection(route.path), []).append((_pattern(route.path), route))
    return table


_TABLE = _by_collection(ROUTES)


def find_route(method: str, path: str) -> tuple[Route, Mapping[str, str]]:
    """Return the route of a request, and the values of its path parameters, decoded.

    Args:
        method: The HTTP method.
        path: The path as it stood in the request line, percent-encoded, so that an encoded slash is not a separator.
            An endpoint that a client has with a slash at the end brings in a second one at the beginning.

    Raises:
        BatchError: ResourceNotFound if no operation has this path, UnsupportedHttpVerb if none has it with this method.
    """
    if len(path) > _LONGEST_PATH:
        raise BatchError("InvalidUri", "the path is too long")
    path = "/" + path.lstrip("/")
    allowed: list[str] = []
    for pattern, route in _TABLE.get(_collection(path), ()):
        found = pattern.fullmatch(path)
        if found is None:
            continue
        if route.method == method:
            return route, {name: _decoded(value) for name, value in found.groupdict().items()}
        allowed.append(route.method)
    if allowed:
        raise BatchError("UnsupportedHttpVerb", f"allowed here: {', '.join(sorted(set(allowed)))}")
    raise BatchError("ResourceNotFound", "there is no such path")


def _decoded(value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise BatchError("InvalidUri", "the path is not UTF-8") from None


class Service:
    """The data plane of one account.

    With ``step_ms`` time stands still between requests, and each one that reads moves it on by so much afterwards: the
    first look after a change finds what a client of the service would find at once.
    """

    def __init__(
        self,
        simulation: Simulation,
        credentials: Credentials | None = None,
        *,
        step_ms: int | None = None,
        present: Present | None = None,
        keep_files_s: float = 0.0,
        wall_s: Callable[[], float] = time.monotonic,
        utc_s: Callable[[], float] = time.time,
        on_shift: Callable[[str], object] | None = None,
    ) -> None:
        """Answer requests with what is in ``simulation``, or with what ``present`` says at each request.

        With ``on_shift`` the times of clients are read by their own clock, see ``session.shifted``; it is told the
        first time of each kind. The files of an auto pool stay for ``keep_files_s`` seconds after it is gone.

        ``wall_s`` reads a clock that limits requests, ``utc_s`` the one that the dates of requests are compared with,
        in seconds since the epoch.
        """
        self.simulation = simulation
        self.credentials = credentials or Credentials()
        self.step_ms = step_ms
        self._present = present
        self._utc_s = utc_s
        self._on_shift = on_shift
        self._shifted: set[str] = set()
        settings = simulation.scenario.simulate.service
        now_s = wall_s if step_ms is None else lambda: self.simulation.now_ms / SECOND_MS
        self._faults = ServiceFaults(settings, simulation.seed, now_s)
        self._kept_files = KeptFiles(simulation, keep_files_s, now_s)
        self._latest = Latest(simulation, self._kept_files.departed)

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the answer to a request, with all its headers. Errors are answers, too.

        Args:
            request: The request.
            refused: Why it cannot be read whole. It is answered with this error whoever sent it: the error says nothing
                about the account, and a busy server does not check signatures.
        """
        try:
            answer, moves = self._answer(request, refused)
            if moves and self.step_ms is not None:
                self.simulation.run_until(self.simulation.now_ms + self.step_ms)
        finally:
            if self._present is not None:
                self._present.share()
        return answer

    def _answer(self, request: Request, refused: BatchError | None) -> tuple[Answer, bool]:
        """Return an answer, and whether the request was one that moves time where only requests do."""
        request_id = str(uuid4())
        code, delay_s, moves = "", 0.0, False
        try:
            if refused is not None:
                raise refused
            call = self._admit(request)
            moves = request.reads
            delay_s = self._faults.delay_s(call.route.operation)
            answer = call.route.handler(call)
        except messages.NotModified:
            answer = Answer(304)
        except BatchError as refusal:
            error = not_found(refusal, self.simulation) if refusal.status == 404 else refusal
            code = error.code
            now = format_utc(self.simulation.scenario.start, self.simulation.now_ms)
            answer = messages.refused(error, request.base, request_id, now)
        if answer.body and answer.headers.get("Content-Type") == messages.JSON:
            answer = messages.with_base(answer, account_url(self.simulation.world), request.base)
        now_time = self.simulation.scenario.start + timedelta(milliseconds=self.simulation.now_ms)
        headers = messages.common_headers(request_id, now_time, request.headers) | dict(answer.headers)
        if request.method == "HEAD" or answer.status == 304:
            return Answer(answer.status, b"", headers, answer.length, code, delay_s=delay_s), moves
        return replace(answer, headers=headers, length=None, code=code, delay_s=delay_s), moves

    def _admit(self, request: Request) -> Call:
        """Check a request from the outside in; return the call of its operation. Raises BatchError."""
        route, names = find_route(request.method, request.path)
        check_credentials(request, self.credentials, self._utc_s())
        query = messages.query_of(request)
        messages.check_version(query)
        if len(request.body) > LONGEST_BODY:
            raise BatchError("RequestBodyTooLarge")
        self.renew()
        self._check_faults(route.operation)
        return Call(self.simulation, self._latest, request, route, names, query, self._read)

    def _read(self, raw: bytes) -> dict[str, Any]:
        """Return the JSON object of a body; its times are as far from the simulation's present as the client meant."""
        if self._on_shift is None:
            return messages.json_object(raw)
        present = self.simulation.scenario.start + timedelta(milliseconds=self.simulation.now_ms)
        ahead = present - datetime.fromtimestamp(self._utc_s(), UTC)
        raw, kinds = shifted(raw, ahead, with_signatures=not self.simulation.scenario.executes)
        for kind in sorted(kinds - self._shifted):
            self._on_shift(f"{kind} of clients is read by the clock here; simulated time is {_distance(ahead)}")
        self._shifted |= kinds
        return messages.json_object(raw)

    @property
    def azure_url(self) -> str:
        """The address that the account would have in Azure."""
        return f"https://{self.credentials.account}.{self.simulation.world.account.location}.batch.azure.com"

    def renew(self) -> None:
        """Turn to the present run, which is another one after a branch."""
        if self._present is not None and (present := self._present.simulation()) is not self.simulation:
            self._kept_files = self._kept_files.of(present)
            self.simulation, self._latest = present, Latest(present, self._kept_files.departed)
        self._kept_files.expire()

    def _check_faults(self, operation: str) -> None:
        """Let a request pass, or refuse it as the scenario says (GEN-22).

        Where only requests move time, a refusal moves it by what the client has to wait: otherwise a client that
        repeats a write would be refused for ever.
        """
        try:
            self._faults.check(operation)
        except BatchError:
            if self.step_ms is not None:
                self.simulation.run_until(self.simulation.now_ms + messages.RETRY_AFTER_S * SECOND_MS)
            raise
