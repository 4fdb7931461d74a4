"""The oracle: the exact value of every output, correctly rounded, and never a guess."""

from verify.oracle.evaluate import evaluate
from verify.oracle.target import Enclosure, Kind, TargetFormat, Value
from verify.oracle.values import Exact, ExactValues

__all__ = ["Enclosure", "Exact", "ExactValues", "Kind", "TargetFormat", "Value", "evaluate"]
