"""The page of a run, read again: what is packed into it, and the page in a browser without a window."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from base64 import b64decode
from itertools import accumulate

from tui.viewmodels.run_page import page_lines

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_DATA = re.compile(r'id="data">\n(.*?)\n</script>', re.DOTALL)
_PATIENCE_S = 60


def page_of(simulation):
    """Return the text of the page of a run."""
    return "".join(f"{line}\n" for lines in page_lines(simulation) for line in lines)


def content_of(text):
    """Return what is packed into a page."""
    return json.loads(zlib.decompress(b64decode(_DATA.search(text)[1])))


def values(steps):
    """Return the values of a column that is packed as differences."""
    return list(accumulate(steps))


def opened(path, folder, *, script="", moment=""):
    """Open a page in Chromium, let a script press keys, and return the document as it is then.

    The policy of the page forbids all scripts but its own, so that the one of a test is added to it, with its hash.
    """
    page = path
    if script:
        text = path.read_text(encoding="utf-8")
        page = folder / "scripted.html"
        added = f"<script>document.addEventListener('shown', () => {{{script}}});</script>"
        policy = re.compile(r"script-src 'sha256-[^']*'")
        page.write_text(policy.sub("script-src 'unsafe-inline'", text).replace("</body>", f"{added}</body>"), "utf-8")
    places = f"--user-data-dir={folder / 'profile'}", f"--log-net-log={folder / 'requests.json'}"
    call = [CHROMIUM, *_FLAGS, *places, "--virtual-time-budget=8000", "--dump-dom", f"{page.as_uri()}{moment}"]
    return subprocess.run(call, capture_output=True, encoding="utf-8", timeout=_PATIENCE_S, check=True).stdout


def requests_of(folder):
    """Return the addresses of the network that were asked for while the last page was open.

    Chromium asks Google for its own sake: whether it is the newest, and what time it is.
    """
    text = (folder / "requests.json").read_text(encoding="utf-8")
    return {url for url in re.findall(r'"url":"(http[^"]*)"', text) if not re.match(r"https?://[\w.]*google", url)}
