"""A slow, exact merge for the tests, by definition and in multiple precision."""

import math
import tomllib
from fractions import Fraction
from importlib import resources

import mpmath
import torch

# (precision, emin, largest finite value, saturates) of the output formats.
FORMATS = {
    torch.float32: (24, -126, (2 - 2.0**-23) * 2.0**127, False),
    torch.float16: (11, -14, 65504.0, False),
    torch.bfloat16: (8, -126, (2 - 2.0**-7) * 2.0**127, False),
    torch.float8_e4m3fn: (4, -6, 448.0, True),
    torch.float8_e5m2: (3, -14, 57344.0, True),
    torch.float8_e4m3fnuz: (4, -7, 240.0, True),
    torch.float8_e5m2fnuz: (3, -15, 57344.0, True),
}
PRECISION = 3000
BOUND = tomllib.loads(resources.files("mla_merge").joinpath("bounds.toml").read_text("utf-8"))["default"]


def active_segments(length: int, segments: int, tile: int) -> int:
    """The producer's own form of the partition, in rationals."""
    if length <= 0:
        return 0
    tiles_per_segment = math.ceil(Fraction(length, segments * tile))
    return math.ceil(Fraction(length, tiles_per_segment * tile))


class ExactRow:
    """One row with finite live segments: exact results and the bounds on their errors."""

    def __init__(self, o, m, s):
        """Take o [n][R], m [n], s [n] as Python floats, the active segments alone; n live ones stay."""
        live = [i for i in range(len(m)) if m[i] != -math.inf and not (s[i] == 0 and not math.isnan(m[i]))]
        self.live = len(live)
        self.m = [m[i] for i in live]
        self.s = [s[i] for i in live]
        self.o = [o[i] for i in live]

    def solve(self, segments):
        """Compute y, lse and the second terms of their bounds."""
        with mpmath.workprec(PRECISION):
            top = max(self.m)
            weight = [mpmath.power(2, mpmath.mpf(m)) for m in self.m]
            den = mpmath.fsum(mpmath.mpf(s) * w for s, w in zip(self.s, weight, strict=True))
            units = [
                BOUND["per_segment"] * segments
                + BOUND["constant"]
                + BOUND["per_exponent"] * abs(mpmath.mpf(m) - mpmath.mpf(top))
                for m in self.m
            ]
            unit = mpmath.ldexp(1, BOUND["unit_roundoff_log2"])
            self.lse = mpmath.log(den)
            masses = zip(self.s, weight, units, strict=True)
            self.lse_slack = unit * mpmath.fsum(u * mpmath.mpf(s) * w for s, w, u in masses) / den
            flat = self.live == 1 and (self.m[0] == math.floor(self.m[0]) or math.frexp(self.s[0])[0] == 0.5)
            if flat:
                self.lse_slack = mpmath.mpf(0)
            self.y, self.y_slack = [], []
            for column in zip(*self.o, strict=True):
                terms = list(zip(column, weight, units, strict=True))
                self.y.append(mpmath.fsum(mpmath.mpf(o) * w for o, w, _ in terms) / den)
                self.y_slack.append(unit * mpmath.fsum(u * abs(mpmath.mpf(o)) * w for o, w, u in terms) / den)
        return self


def margin(got: float, exact, slack, dtype: torch.dtype) -> float:
    """|error| / bound, where 1 is the most that is allowed; both measured as the contract says."""
    precision, emin, largest, saturates = FORMATS[dtype]
    with mpmath.workprec(PRECISION):
        assert not math.isnan(got), "NaN for a number"
        # Past the largest value: saturation, or an infinity that stands for the next power of two.
        limit = mpmath.mpf(largest if saturates else 2.0 ** math.frexp(largest)[1])
        exact = max(min(exact, limit), -limit)
        if math.isinf(got):
            assert not saturates
            got = limit if got > 0 else -limit
        exponent = emin if exact == 0 else max(emin, mpmath.frexp(exact)[1] - 1)
        if exponent > emin and abs(got) < mpmath.ldexp(1, exponent) <= abs(exact):
            exponent -= 1
        ulp = mpmath.ldexp(1, exponent - precision + 1)
        return float(abs(mpmath.mpf(got) - exact) / (BOUND["ulp"] * ulp + slack))
