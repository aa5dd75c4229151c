"""Plain reading, what big tool output is measured against: run `cat` on each file, read its output and drop it.

`python plain.py FILE...` prints how many seconds each reading took.
"""

import os
import subprocess
import sys
import time


def main(files: list[str]) -> None:
    for file in files:
        began = time.monotonic()
        with subprocess.Popen(["cat", file], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            while os.read(process.stdout.fileno(), 65536):
                pass
        print(time.monotonic() - began)


if __name__ == "__main__":
    main(sys.argv[1:])
