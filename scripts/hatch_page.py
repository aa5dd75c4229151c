"""Sees to it that packages hold the browser's page: run by hatchling while it makes a wheel or a source archive."""

import os
import shutil
import subprocess
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/bobstay/server/static/web/index.html"
ADVICE = (
    "A package of bobstay holds the page it shows in the browser, and that is not built here. Install Node.js 20.19 or"
    " newer and make the package again: the page is then built with it. HATCH_BUILD_NO_HOOKS=true makes a package with"
    " the plain page only."
)


class PageHook(BuildHookInterface[Any]):  # type: ignore[misc] # hatchling is there only while a package is made
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page where its sources may have changed; in an unpacked source archive take what is there."""
        if version == "editable":
            # `make setup` comes before `make web`, and the server finds the page when it is there.
            return
        there = os.path.exists(os.path.join(self.root, PAGE))
        unpacked = os.path.exists(os.path.join(self.root, "PKG-INFO"))
        if not (there and unpacked) and shutil.which("npm"):
            subprocess.run(["bash", os.path.join(self.root, "scripts/web.sh")], check=True)
            there = os.path.exists(os.path.join(self.root, PAGE))
        if not there:
            raise SystemExit(ADVICE)
