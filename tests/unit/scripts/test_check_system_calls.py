"""The check of system calls finds a planted one, however it is imported, and lets the owners pass."""

from pathlib import Path

import pytest
from scripts import check_system_calls


@pytest.mark.parametrize(
    "text",
    [
        "import fcntl\nfcntl.flock(1, fcntl.LOCK_EX)\n",
        "import fcntl as f\nf.flock(1, 2)\n",
        "from os import replace\n",
        "def later():\n    from os import rename as move\n",
        "import os\nos.replace('a', 'b')\n",
        "import shutil\nmove = shutil.move\n",
        "import os\nFLAGS = os.O_RDONLY | os.O_NONBLOCK\n",
    ],
)
def test_a_system_call_outside_of_its_module_is_refused(tmp_path: Path, text: str) -> None:
    plant(tmp_path, "config/planted.py", text)
    assert check_system_calls.main(tmp_path) == 1


def test_the_message_names_the_line_and_the_module_to_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "config/planted.py", "import os\n\nos.replace('a', 'b')\n")
    check_system_calls.main(tmp_path)
    assert "src/bobstay/config/planted.py:3: os.replace: use system/atomic_file.py" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("system/file_lock.py", "import fcntl\nfcntl.flock(1, 2)\n"),
        ("system/atomic_file.py", "import os\nos.replace('a', 'b')\n"),
        ("server/files/confined_open.py", "import os\nSAFE = os.O_NONBLOCK\n"),
        ("config/other.py", "import fcntl, os\nfcntl.ioctl(1, 2)\n'a'.replace('a', 'b')\n"),
    ],
)
def test_owners_and_exceptions_pass(tmp_path: Path, module: str, text: str) -> None:
    plant(tmp_path, module, text)
    assert check_system_calls.main(tmp_path) == 0


def plant(root: Path, module: str, text: str) -> None:
    path = root / "src/bobstay" / module
    path.parent.mkdir(parents=True)
    path.write_text(text)
