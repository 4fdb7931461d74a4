"""How far a value may lie from the exact one: numbers in a file, and what they come to on a case."""

import math
from dataclasses import replace

import torch

from fuzz.case import MergeCase
from verify.bounds.bound import Bounds, SecondTerms
from verify.bounds.read import DEFAULT_BOUNDS, FP32_BOUNDS, load_bounds
from verify.oracle.target import Base


def second_terms(case: MergeCase, bounds: Bounds) -> SecondTerms:
    """Evaluate the second term of the bounds for every value of a case."""
    terms = bounds.second_terms(case)
    match bounds.lse_base:
        case Base.E:
            return terms
        case Base.TWO:
            return replace(terms, lse=terms.lse / math.log(2.0))
        case None:
            return replace(terms, lse=torch.full_like(terms.lse, torch.inf))


__all__ = ["DEFAULT_BOUNDS", "FP32_BOUNDS", "Bounds", "SecondTerms", "load_bounds", "second_terms"]
