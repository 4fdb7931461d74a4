"""Certified verification of attention-merge kernels: oracle, ULP metric, judge, campaign, commands."""
