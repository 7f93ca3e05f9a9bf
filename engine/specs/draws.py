"""Keyed chance: a draw is a function of the seed, its purpose and its subject, and of nothing else.

No generator lives in the state, so a fault that is added draws nothing away from the rest of a run, and going back
in time needs no generator to be wound back. Rare draws (a boot, an eviction) are single: ``draw_ms(spread,
uniform(seed, "boot", node_id, boot))``. Frequent ones (the tasks of a job) come in blocks, one stream for each key.

Every draw takes exactly one uniform number u through the inverse of its cumulative distribution, so the value never
falls as u grows: two runs that share a key but differ in a distribution stay comparable. The numbers are the same on
every machine and Python version: the streams are (BLAKE2b, Mersenne Twister) by definition, the logarithms and
exponentials of C libraries differ at most in a last bit that is lost in rounding to whole milliseconds.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, islice, repeat
from random import Random  # noqa: TID251  seeded by key below, never shared
from statistics import NormalDist
from typing import TYPE_CHECKING

from engine.base.units import UNLIMITED_FROM_MS

if TYPE_CHECKING:
    from engine.specs.simulate import Distribution, ExitCodes

_MANTISSA = 53
_TINY = 2.0**-_MANTISSA
_NEVER = 2.0  # no stream comes to it
_quantile = NormalDist().inv_cdf


def _digest(size: int, seed: int, key: tuple[str | int, ...]) -> bytes:
    text = "\0".join(map(str, (seed, *key)))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def uniform(seed: int, *key: str | int) -> float:
    """A number in [0, 1) that belongs to this seed and key; a number and its decimal text are the same key."""
    return (int.from_bytes(_digest(8, seed, key), "big") >> (64 - _MANTISSA)) * _TINY


def draw_ms(distribution: Distribution, u: float) -> int:
    """The duration in whole milliseconds, at least 0, below which a share u of the distribution lies; u in [0, 1)."""
    return round(_inverse(distribution.kind, distribution.values)(u))


def pick_code(weights: ExitCodes, u: float) -> int:
    """The exit code on which u in [0, 1) falls when the codes share the interval by weight, in the order given."""
    codes, bounds = _shares(weights)
    return codes[bisect_right(bounds, u * bounds[-1], hi=len(bounds) - 1)]


def block_ms(distribution: Distribution, seed: int, *key: str | int, count: int) -> array[int]:
    """The durations in ms of ``count`` subjects, in their order, from the one stream of this key."""
    if distribution.kind == "constant":
        return array("q", [draw_ms(distribution, 0.0)]) * count
    numbers = islice(iter(_stream(seed, key).random, _NEVER), count)
    return array("q", map(round, map(_inverse(distribution.kind, distribution.values), numbers)))


def block_codes(weights: ExitCodes, seed: int, *key: str | int, count: int) -> array[int]:
    """The exit codes of ``count`` subjects, in their order, from the one stream of this key."""
    codes, bounds = _shares(weights)
    if len(codes) == 1:
        return array("i", codes) * count
    numbers = islice(iter(_stream(seed, key).random, _NEVER), count)
    falls_on = map(bisect_right, repeat(bounds[:-1]), map(float(bounds[-1]).__mul__, numbers))
    return array("i", map(codes.__getitem__, falls_on))


def hex_digits(n: int, seed: int, *key: str | int) -> str:
    """``n`` lower-case hexadecimal digits, at most 128, that belong to this seed and key."""
    return _digest((n + 1) // 2, seed, key).hex()[:n]


def guid(seed: int, *key: str | int) -> str:
    """A GUID in lower case for the key."""
    digits = hex_digits(32, seed, *key)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def decimal_digits(n: int, seed: int, *key: str | int) -> str:
    """``n`` decimal digits, at most 128, that belong to this seed and key."""
    return str(int.from_bytes(_digest(64, seed, key), "big") % 10**n).zfill(n)


def node_id(seed: int, pool_id: str, number: int, *, dedicated: bool) -> str:
    """The id of the ``number``-th node that a VM pool ever had: ``tvmps_<64 hex>_d``, Spot ``_p`` (NODE-3)."""
    return f"tvmps_{hex_digits(64, seed, 'node id', pool_id, number)}_{'d' if dedicated else 'p'}"


def classic_node_id(seed: int, pool_id: str, number: int, allocated: datetime) -> str:
    """The same for classic pools, ``tvm-<10 digits>_<number>-20260105t080045z``; numbers count from 1 (NODE-3)."""
    return f"tvm-{decimal_digits(10, seed, 'node id', pool_id)}_{number}-{allocated:%Y%m%dt%H%M%Sz}"


def _stream(seed: int, key: tuple[str | int, ...]) -> Random:
    return Random(int.from_bytes(_digest(16, seed, key), "big"))


@lru_cache(maxsize=1024)
def _shares(weights: ExitCodes) -> tuple[list[int], list[float]]:
    """Codes and the running totals of their weights; codes without weight never come up and are left out.

    A code is a signed 32-bit number, as the service shows it: 0xC000013A is -1073741510 (RETRY-8).
    """
    heavy = [(code, weight) for code, weight in weights if weight > 0]
    if not heavy:
        raise ValueError("no exit code has a weight above 0; give at least one")
    return [(code + 2**31) % 2**32 - 2**31 for code, _ in heavy], list(accumulate(weight for _, weight in heavy))


@lru_cache(maxsize=1024)
def _inverse(kind: str, values: tuple[float, ...]) -> Callable[[float], float]:
    """The inverse of the cumulative distribution, up to the longest time that has an end."""
    inverse = _free_inverse(kind, values)
    if inverse(1 - _TINY) < UNLIMITED_FROM_MS:
        return inverse
    return lambda u: min(inverse(u), UNLIMITED_FROM_MS)


def _free_inverse(kind: str, values: tuple[float, ...]) -> Callable[[float], float]:
    """The inverse of the cumulative distribution; infinite tails end where the last bit of u does."""
    match kind, values:
        case "constant", (value,):
            return lambda _: value
        case "uniform", (low, high):
            return lambda u: low + (high - low) * u
        case "normal", (mean, deviation):
            return lambda u: max(0.0, mean + deviation * _quantile(u or _TINY))
        case "lognormal", (median, sigma):
            return lambda u: median * math.exp(sigma * _quantile(u or _TINY))
        case "exponential", (mean,):
            return lambda u: -mean * math.log1p(-u)
        case "triangular", (low, mode, high):
            return _inverse_triangular(low, mode, high)
        case "choice", _ if values:
            ordered, count = sorted(values), len(values)
            return lambda u: ordered[int(u * count)]
    raise ValueError(f"no distribution {kind!r} of {len(values)} values")


def _inverse_triangular(low: float, mode: float, high: float) -> Callable[[float], float]:
    width = high - low
    if not width:
        return lambda _: low
    bend = (mode - low) / width

    def inverse(u: float) -> float:
        if u < bend:
            return low + math.sqrt(u * width * (mode - low))
        return high - math.sqrt((1 - u) * width * (high - mode))

    return inverse
