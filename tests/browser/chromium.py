"""The real Chromium that the page is tried in: where it is, and how it is started."""

import os
import shutil
from pathlib import Path

from playwright.async_api import Browser, Playwright

NOT_NEEDED = (
    # Each window loads about 300 files for the popups of its address bar: half the processor time of a test.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "PreloadTopChromeWebUI",
    # Playwright gives a list of its own, which ours replaces: these are of it.
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
"""Features of Chromium that are off."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever a page asks for, nothing leaves this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    # Texts are drawn alike on all machines.
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    # Kept for measurements of the heap.
    "--enable-precise-memory-info",
    f"--disable-features={','.join(NOT_NEEDED)}",
)


def executable() -> str:
    """The browser of the system; none is ever downloaded."""
    given = os.environ.get("BOBSTAY_TEST_CHROMIUM", "")
    found = given or shutil.which("chromium") or shutil.which("chromium-browser") or ""
    assert found, "Chromium is needed: run scripts/packages.sh, or name it in BOBSTAY_TEST_CHROMIUM."
    assert Path(found).exists(), f"{found} is not there."
    return found


async def start(playwright: Playwright, *more: str) -> Browser:
    return await playwright.chromium.launch(executable_path=executable(), args=[*FLAGS, *more])
