"""Writes the OpenAPI document and the JSON Schema of streams into `docs/`; with --check only says if they are stale.

The TypeScript types in `web/src/gen` are made from it:

    npx openapi-typescript@7.13.0 docs/openapi.json -o web/src/gen/api.ts
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bobstay.server.api.endpoints import current_document  # noqa: E402 - found only after the line above
from bobstay.server.api.openapi import stream_schema  # noqa: E402 - as above


def made() -> dict[Path, str]:
    """What the files should hold."""
    documents: dict[str, Any] = {"openapi.json": current_document(), "stream.schema.json": stream_schema()}
    return {ROOT / "docs" / name: json.dumps(said, indent=1) + "\n" for name, said in documents.items()}


def stale() -> list[Path]:
    return [path for path, text in made().items() if not path.exists() or path.read_text() != text]


def main() -> int:
    if "--check" in sys.argv[1:]:
        for path in stale():
            print(f"{path.relative_to(ROOT)} is out of date: run scripts/make_openapi.py", file=sys.stderr)
        return 1 if stale() else 0
    for path, text in made().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
