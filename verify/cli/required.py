"""The device that a run must be on, for whoever may not take another one's verdict for it."""

from __future__ import annotations

from verify.campaign.environment import describe_environment
from verify.cli.options import DEVICE
from verify.cli.settings import device_of, settings_of
from verify.cli.special import REQUIRE_DEVICE


def device_complaint(wanted: str | None, device: str | None) -> str:
    """Return one line where the run would be on another device than the one required, else nothing.

    Either is what a flag says, or None for what the environment or pyproject.toml says. `cuda` is any GPU,
    any other word a part of the device's name or architecture. UsageError where the device is not there.
    """
    given = {"require-device": wanted, "device": device}
    words = [f"--{name}={value}" for name, value in given.items() if value is not None]
    settings = settings_of("fuzz", "", (REQUIRE_DEVICE, DEVICE), words)
    required, chosen = settings["require-device"], device_of(settings)
    if required is None:
        return ""
    about = describe_environment(chosen, {})
    names = (chosen, str(about["device"]), str(about["arch"]))
    if any(required.casefold() in name.casefold() for name in names):
        return ""
    return f"--require-device {required}: this run would be on {about['device']} ({about['arch']}, {chosen})"
