"""The contract's situations of one row, tried in order, around the exact arithmetic of finite rows."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verify.oracle.dyadic import to_units
from verify.oracle.exact import Row, zero
from verify.oracle.target import Base, Kind, TargetFormat, Value


@dataclass(frozen=True, kw_only=True, slots=True)
class RowValues:
    """The exact results of one row."""

    output: list[Value]
    """One value per column, R of them."""
    lse: Value
    """The logarithm of the row's mass."""
    bits: int
    """The most working bits used in the row."""


def not_a_number(fmt: TargetFormat) -> Value:
    """Return the record of a NaN, which no format clamps."""
    return Value(kind=Kind.NAN, rounded=math.nan, residual=0.0, exponent=fmt.emin)


def infinity(sign: float, fmt: TargetFormat) -> Value:
    """Return the record of an infinity with the sign of `sign`; it saturates where the format does."""
    if fmt.saturates:
        limit = math.copysign(fmt.max_value, sign)
        return Value(kind=Kind.NUMBER, rounded=limit, residual=0.0, exponent=fmt.emax)
    return Value(kind=Kind.INFINITE, rounded=math.copysign(math.inf, sign), residual=0.0, exponent=fmt.emin)


def is_empty(m: float, s: float) -> bool:
    """Tell whether an active segment contributes nothing: m = −inf, or s = ±0 with m not NaN."""
    return m == -math.inf or (s == 0 and not math.isnan(m))


def is_broken(m: float, s: float) -> bool:
    """Tell whether a live segment makes its whole row NaN."""
    return math.isnan(m) or math.isnan(s) or m == math.inf or s < 0 or s == math.inf


def merge_row(
    m: Sequence[float],
    s: Sequence[float],
    columns: Iterable[Sequence[float]],
    output_format: TargetFormat,
    lse_format: TargetFormat,
    base: Base = Base.TWO,
    lse_base: Base = Base.E,
) -> RowValues:
    """Return the exact results of one row from its active segments.

    m and s hold one float32 per active segment, each of the R columns one o per active segment. The weights
    are `base`^m; the lse is the logarithm to `lse_base`.
    """
    live = [i for i in range(len(m)) if not is_empty(m[i], s[i])]
    if not live:
        output = [zero(output_format) for _ in columns]
        # −inf is the result itself, so it stays infinite in any format
        lse = Value(kind=Kind.INFINITE, rounded=-math.inf, residual=0.0, exponent=lse_format.emin)
        return RowValues(output=output, lse=lse, bits=0)
    if any(is_broken(m[i], s[i]) for i in live):
        output = [not_a_number(output_format) for _ in columns]
        return RowValues(output=output, lse=not_a_number(lse_format), bits=0)
    row = Row([m[i] for i in live], [s[i] for i in live], base)
    output = [_column(row, [column[i] for i in live], output_format) for column in columns]
    return RowValues(output=output, lse=row.lse(lse_format, lse_base), bits=row.bits)


def _column(row: Row, o: Sequence[float], fmt: TargetFormat) -> Value:
    total = sum(o)  # finite if every o is: a double holds any sum of float32s that fits in memory
    if math.isfinite(total):
        return row.output([to_units(x) for x in o], fmt)
    return not_a_number(fmt) if math.isnan(total) else infinity(total, fmt)
