"""What a failure is consistent with: a hypothesis is computed, and named if it explains every value."""

from verify.diagnosis.diagnose import HYPOTHESES, diagnose

__all__ = ["HYPOTHESES", "diagnose"]
