"""How far a value may lie from the exact one: numbers in a file, and what they come to on a case."""

from fuzz.case import MergeCase
from verify.bounds.bound import Bounds, SecondTerms
from verify.bounds.read import DEFAULT_BOUNDS, FP32_BOUNDS, load_bounds


def second_terms(case: MergeCase, bounds: Bounds) -> SecondTerms:
    """Evaluate the second term of the bounds for every value of a case."""
    return bounds.second_terms(case)


__all__ = ["DEFAULT_BOUNDS", "FP32_BOUNDS", "Bounds", "SecondTerms", "load_bounds", "second_terms"]
