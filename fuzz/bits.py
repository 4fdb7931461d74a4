"""Numbers from a counter: an integer hash that gives the same bits everywhere.

No generator of a library is used, since those change between versions and devices. A word is a hash of
(seed, label, coordinates): the order in which words are asked for does not matter, and the element at a
coordinate keeps its value when the tensor around it grows or shrinks. Everything is wrapping int64
arithmetic (the finaliser of splitmix64) and IEEE float64 operations that are exact or correctly rounded,
one at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import torch

T = TypeVar("T")

MAX_EXTENT: Final = 1 << 16
"""Each coordinate takes 16 bits of the counter, so no dimension may be longer."""

_MULTIPLIERS: Final = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))


_BLOCK: Final = 1 << 15
"""Words that are hashed at a time: with their shifted copies they stay in a core's cache."""


def _shift(words: torch.Tensor, count: int) -> torch.Tensor:
    """Shift right without the sign, which int64 would drag along."""
    return (words >> count).bitwise_and_((1 << (64 - count)) - 1)


def mix(words: torch.Tensor) -> torch.Tensor:
    """Return a bijective hash of each int64 word (the splitmix64 finaliser), on the words' device."""
    return _mix_in_place(words.clone())


def _mix_in_place(words: torch.Tensor) -> torch.Tensor:
    words.bitwise_xor_(_shift(words, 30)).mul_(_MULTIPLIERS[0])
    words.bitwise_xor_(_shift(words, 27)).mul_(_MULTIPLIERS[1])
    return words.bitwise_xor_(_shift(words, 31))


def power_of_two(exponents: torch.Tensor) -> torch.Tensor:
    """Return 2^e in float64, assembled from bits; every e must lie in −1022 … 1023."""
    return ((exponents.to(torch.int64) + 1023) << 52).view(torch.float64)


def scale_by_power(values: torch.Tensor, exponents: torch.Tensor) -> torch.Tensor:
    """Return values · 2^e in float64 for any e within ±2044, in two steps so that no factor overflows."""
    half = exponents.to(torch.int64).clamp(-2044, 2044) >> 1
    rest = exponents.to(torch.int64).clamp(-2044, 2044) - half
    return values.to(torch.float64) * power_of_two(half) * power_of_two(rest)


def exponent_of(values: torch.Tensor) -> torch.Tensor:
    """Return floor(log2 |x|) of normal float64 values, read off their bits; −1023 for zero."""
    return ((values.to(torch.float64).view(torch.int64) >> 52) & 0x7FF) - 1023


def float32_pattern(codes: torch.Tensor) -> torch.Tensor:
    """Return the float32 values whose bits are the low 32 bits of each word."""
    low = codes & 0xFFFFFFFF
    return torch.where(low >= 1 << 31, low - (1 << 32), low).to(torch.int32).view(torch.float32)


def bounded(words: torch.Tensor, limit: int) -> torch.Tensor:
    """Return integers in 0 … limit − 1 made of random words, int64 (biased by less than limit / 2^63)."""
    if limit & (limit - 1) == 0:
        return (words >> 1).bitwise_and_(limit - 1)  # the remainder, many times faster
    return _shift(words, 1) % limit


def plain_nan(values: torch.Tensor) -> torch.Tensor:
    """Return the values with every NaN the usual one: processors make different ones of the same sum."""
    return torch.where(values.isnan(), torch.nan, values)


@dataclass(frozen=True, kw_only=True)
class Stream:
    """All the random numbers of one case, each reached by a label and its coordinates."""

    seed: int
    """Any integer; its residue modulo 2^64 counts."""

    def key(self, label: str) -> int:
        """Return the signed 64-bit key of a label."""
        text = f"{self.seed % (1 << 64)}/{label}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)

    def words(self, label: str, *shape: int) -> torch.Tensor:
        """Return 64 random bits per element, int64, on torch's present device.

        There are at most four dimensions of 65536 at most.
        """
        ramps = []
        for axis, extent in enumerate(shape):
            rest = len(shape) - 1 - axis
            ramps.append(torch.arange(extent, dtype=torch.int64).reshape((extent,) + (1,) * rest))
        return self.words_at(label, *ramps)

    def words_at(self, label: str, *places: torch.Tensor) -> torch.Tensor:
        """Return the words that `words` has at these coordinates, int64 tensors that broadcast together."""
        counter = torch.tensor(self.key(label), dtype=torch.int64)
        for axis, place in enumerate(places):
            counter = counter + (place << (16 * (len(places) - 1 - axis)))
        words = counter.contiguous()
        for block in torch.split(
            words.view(-1), _BLOCK if words.device.type == "cpu" else max(1, words.numel())
        ):
            _mix_in_place(_mix_in_place(block))
        return words

    def below(self, label: str, limit: int, *shape: int) -> torch.Tensor:
        """Return integers in 0 … limit − 1, int64 (biased by less than limit / 2^63)."""
        return bounded(self.words(label, *shape), limit)

    def span(self, label: str, low: int, high: int, *shape: int) -> torch.Tensor:
        """Return integers in low … high, both ends included."""
        return self.below(label, high - low + 1, *shape) + low

    def signs(self, label: str, *shape: int) -> torch.Tensor:
        """Return ±1.0 in float64."""
        return 1.0 - 2.0 * self.below(label, 2, *shape).to(torch.float64)

    def unit(self, label: str, *shape: int) -> torch.Tensor:
        """Return float64 values in [0, 1), multiples of 2^-24, so that float32 holds each exactly."""
        return self.below(label, 1 << 24, *shape).to(torch.float64) * 2.0**-24

    def one_of(self, label: str, values: Sequence[float], *shape: int) -> torch.Tensor:
        """Return elements of `values`, equally likely, in float64."""
        table = torch.tensor(values, dtype=torch.float64)
        return table[self.below(label, len(values), *shape)]

    def spread(self, label: str, low: int, high: int, *shape: int) -> torch.Tensor:
        """Return ±(1 + f) · 2^e in float64: e uniform in low … high, f any multiple of 2^-23 below 1."""
        significand = 1.0 + self.below(f"{label}/f", 1 << 23, *shape).to(torch.float64) * 2.0**-23
        exponents = self.span(f"{label}/e", low, high, *shape)
        return self.signs(f"{label}/±", *shape) * significand * power_of_two(exponents)

    def patterns(self, label: str, *shape: int) -> torch.Tensor:
        """Return float32 values uniform over the 2^32 bit patterns, NaNs and infinities included."""
        return float32_pattern(_shift(self.words(label, *shape), 32))

    def pick(self, label: str, values: Sequence[T]) -> T:
        """Return one element of `values`."""
        return values[int(self.below(label, len(values), 1)[0])]
