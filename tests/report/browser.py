"""A headless Chromium, driven over chromedriver's plain HTTP: no package next to what the system has.

    python tests/report/browser.py clinic/report.html docs/pictures

draws the pictures of docs/report.md again, from the report that `ppdm demo --dir clinic` writes.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
_HANGS = 600  # seconds, as in tests/sizes.py
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
)  # fmt: skip


class Browser:
    """One tab."""

    def __init__(self, base: str, session: str) -> None:
        self._base = f"{base}/session/{session}"

    def open(self, file: Path) -> None:
        self.open_address(file.as_uri())

    def open_address(self, address: str) -> None:
        self._post("url", {"url": address})

    def run(self, script: str):
        return self._post("execute/sync", {"script": script, "args": []})

    def tell(self, command: str, **params):
        """A command of the DevTools protocol."""
        return self._post("goog/cdp/execute", {"cmd": command, "params": params})

    def resize(self, width: int, height: int = 900) -> None:
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def log(self, kind: str) -> list[dict]:
        return self._post("se/log", {"type": kind})

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last call."""
        told = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [item["params"]["request"]["url"] for item in told if item["method"] == "Network.requestWillBeSent"]

    def picture(self, file: Path, *, whole: bool = True) -> None:
        found = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))

    def printed(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self._post("print", {"background": True})))

    def _post(self, path: str, body: dict):
        return _post(f"{self._base}/{path}", body)


def _post(url: str, body: dict):
    data = json.dumps(body).encode()
    with urllib.request.urlopen(
        urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=_HANGS
    ) as r:
        return json.load(r)["value"]


@contextmanager
def browser():
    """A browser with a profile of its own, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="ppdm_chromium_", ignore_cleanup_errors=True) as profile:
        driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            base = f"http://127.0.0.1:{_port(driver)}"
            found = _post(f"{base}/session", {"capabilities": {"alwaysMatch": _wanted(profile)}})
            try:
                tab = Browser(base, found["sessionId"])
                tab.open_address("about:blank")  # away from the browser's own first page
                tab.requests()
                yield tab
            finally:
                request = urllib.request.Request(f"{base}/session/{found['sessionId']}", method="DELETE")
                urllib.request.urlopen(request, timeout=_HANGS).close()
        finally:
            driver.terminate()
            driver.wait(timeout=_HANGS)
            driver.stdout.close()


def _wanted(profile: str) -> dict:
    options = {"binary": CHROMIUM, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
    return {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}


def _port(driver) -> int:
    deadline = time.monotonic() + _HANGS
    while time.monotonic() < deadline:
        line = driver.stdout.readline()
        if "started successfully on port" in line:
            return int(line.rsplit(" ", 1)[1].strip().rstrip("."))
    raise TimeoutError("chromedriver did not start")


def draw_pictures(page: Path, folder: Path) -> None:
    with browser() as tab:
        for name, width, height in (("desktop", 1280, 1480), ("phone", 390, 2050)):
            tab.resize(width, height)
            tab.tell("Emulation.setScrollbarsHidden", hidden=True)
            tab.open(page)
            tab.picture(folder / f"report-{name}.png", whole=False)


if __name__ == "__main__":
    draw_pictures(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
