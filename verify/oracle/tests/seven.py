"""The contract's formats as plain data, written here once more so that the oracle's tests import nothing."""

from typing import NamedTuple


class Plain(NamedTuple):
    """What the oracle needs of a format."""

    precision: int
    emin: int
    emax: int
    max_value: float
    saturates: bool


FORMATS = {
    "float32": Plain(24, -126, 127, (2.0 - 2.0**-23) * 2.0**127, False),
    "float16": Plain(11, -14, 15, 65504.0, False),
    "bfloat16": Plain(8, -126, 127, (2.0 - 2.0**-7) * 2.0**127, False),
    "float8_e4m3fn": Plain(4, -6, 8, 448.0, True),
    "float8_e5m2": Plain(3, -14, 15, 57344.0, True),
    "float8_e4m3fnuz": Plain(4, -7, 7, 240.0, True),
    "float8_e5m2fnuz": Plain(3, -15, 15, 57344.0, True),
}
FLOAT32 = FORMATS["float32"]
BFLOAT16 = FORMATS["bfloat16"]
E4M3FN = FORMATS["float8_e4m3fn"]
