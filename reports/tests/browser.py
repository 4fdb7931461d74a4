"""A headless Chromium, driven over the WebDriver protocol; a few requests need no package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from base64 import b64decode
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PATIENCE_S = 60
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",  # as root, as CI is, it starts no other way
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def missing() -> str:
    """Return why there is no browser here; empty when there is one."""
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(lacking)} here" if lacking else ""


class Browser:
    """One window."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/session"
        # A proxy of the environment is not for this machine's own port.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def start(self, profile: Path) -> None:
        """Open the window, with an empty profile."""
        options = {
            "binary": shutil.which("chromium"),
            "args": [*_ARGUMENTS, f"--user-data-dir={profile}"],
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._url += f"/{session['sessionId']}"

    def open(self, url: str) -> None:
        """Load a page, and wait until it is there."""
        self._call("POST", "/url", {"url": url})

    def resize(self, width: int, height: int) -> None:
        """Give the page that size; a window has a least width, which a phone's is below."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": size}
        self._call("POST", "/goog/cdp/execute", command)

    def ask(self, script: str, *arguments: Any) -> Any:
        """Return what a script finds in the page."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        """Click the first element of that selector, as a mouse would."""
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{next(iter(found.values()))}/click", {})

    def console(self) -> list[str]:
        """Return what was said on the console since the last time."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def picture(self) -> bytes:
        """Return what the window shows, as PNG."""
        return b64decode(self._call("GET", "/screenshot", None))

    def close(self) -> None:
        """Close the window."""
        self._call("DELETE", "", None)

    def ready(self) -> bool:
        """Tell whether the driver listens."""
        try:
            self._opener.open(self._url.removesuffix("/session") + "/status", timeout=5).close()
        except OSError:
            return False
        return True

    def _call(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        with self._opener.open(request, timeout=_PATIENCE_S) as answer:
            return json.load(answer)["value"]


@contextmanager
def browser():
    """Start a browser and end it."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+") as log:
        driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        try:
            window = Browser(_port(Path(folder) / "log", driver))
            window.start(Path(folder) / "profile")
            try:
                yield window
            finally:
                window.close()
        finally:
            driver.terminate()
            driver.wait()


def _port(log: Path, driver: subprocess.Popen[bytes]) -> int:
    """Return the port that the driver says it has taken."""
    for _ in range(_PATIENCE_S * 20):
        if found := re.search(r"successfully on port ([0-9]+)\.", log.read_text(errors="replace")):
            return int(found[1])
        if driver.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"chromedriver did not start: {log.read_text(errors='replace')[:500]}")
