"""The oracle: the exact value of every output, correctly rounded, and never a guess."""

from verify.oracle.certificate import Certificate, certify
from verify.oracle.evaluate import evaluate
from verify.oracle.plain import evaluate_plainly
from verify.oracle.target import Base, Enclosure, Kind, TargetFormat, Value
from verify.oracle.values import Exact, ExactValues

__all__ = [
    "Base",
    "Certificate",
    "Enclosure",
    "Exact",
    "ExactValues",
    "Kind",
    "TargetFormat",
    "Value",
    "certify",
    "evaluate",
    "evaluate_plainly",
]
