"""A plan for tests: everything as a run would have it, unless a test says otherwise."""

from pathlib import Path

from fuzz.families import DRAWN
from fuzz.formats import FORMATS
from verify.bounds import load_bounds
from verify.campaign.plan import Plan, Shard
from verify.campaign.profiles import PROFILES


def plan(**changes):
    values = {
        "kernel": "k.py:merge",
        "profile_name": "ci",
        "profile": PROFILES["ci"],
        "budget_s": None,
        "max_cases": 12,
        "seed": 0,
        "families": tuple(DRAWN),
        "dtypes": tuple(FORMATS),
        "laws": (),
        "shard": Shard(),
        "device": "cpu",
        "devices": ("cpu", "cpu"),
        "isolated": True,
        "timeout_s": 1.0,
        "stop_at_first": False,
        "out": Path("unused"),
        "resume": False,
        "bounds": load_bounds(),
        "convention": "segments",
        "argv": (),
        "arguments": (),
        "config": {},
    }
    return Plan(**{**values, **changes})
