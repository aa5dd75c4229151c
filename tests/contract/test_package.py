"""An installed package serves the page, on a machine without Node."""

import http.client
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = "src/bobstay/server/static"
PAGE = '<!doctype html><title>bobstay</title><script type="module" src="/assets/index-B3x_9-aQ.js"></script>'
INCLUDED = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore", "scripts/hatch_page.py")
UV = ROOT / ".venv/bin/uv"
LIMIT = 50
NEEDED = ("bash", "cat", "cut", "dirname", "find", "sha256sum", "sort", "xargs")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the page that was built, or one that stands in for it."""
    copy = tmp_path_factory.mktemp("sources")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", ".web*"))
    (copy / "scripts").mkdir()
    for name in INCLUDED:
        shutil.copy(ROOT / name, copy / name)
    page = copy / STATIC / "web"
    if not (page / "index.html").exists():
        (page / "assets").mkdir(parents=True)
        (page / "index.html").write_text(PAGE)
        (page / "assets/index-B3x_9-aQ.js").write_text("document.title = 'here'")
    return copy


@pytest.fixture(scope="module")
def without_node(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a machine with few commands."""
    home = tmp_path_factory.mktemp("home")
    path = commands(home / "bin", "bash", "git", "uname")
    kept = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "PIP_"))}
    # What `make setup` fetched to install the project is in uv's own folder.
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return {**kept, "HOME": str(home), "PATH": path, "XDG_CACHE_HOME": cache, "UV_SYSTEM_CERTS": "true"}


@pytest.fixture(scope="module")
def packages(sources: Path, without_node: dict[str, str]) -> Path:
    """The folder with the source archive, and the wheel made from that."""
    done = build(sources, without_node)
    assert done.returncode == 0, done.stderr
    return sources / "dist"


def build(sources: Path, variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """As `make setup` does it: with the build system it fetched, or, if that is gone, with one fetched now."""
    command = [str(UV), "build", "--python", sys.executable, "--out-dir", str(sources / "dist"), str(sources)]
    for more in (["--offline"], []):
        done = subprocess.run(
            [*command, *more], env=variables, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        if "network was disabled" not in done.stderr:
            break
    return done


def test_source_archive_and_wheel_hold_the_same_page(packages: Path, sources: Path) -> None:
    built = {
        str(path.relative_to(sources / STATIC)): path.read_bytes()
        for path in (sources / STATIC).rglob("*")
        if path.is_file()
    }
    assert "web/index.html" in built
    with zipfile.ZipFile(next(packages.glob("*.whl"))) as wheel:
        inside = "bobstay/server/static/"
        assert {
            name.removeprefix(inside): wheel.read(name) for name in wheel.namelist() if name.startswith(inside)
        } == built
    with tarfile.open(next(packages.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"{STATIC}/{name}" for name in built} <= names
    assert "scripts/hatch_page.py" in names
    assert not [name for name in names if "node_modules" in name]


def test_an_installed_wheel_serves_the_page_where_there_is_no_node(
    packages: Path, sources: Path, without_node: dict[str, str], tmp_path: Path
) -> None:
    python = installed(next(packages.glob("*.whl")), without_node, tmp_path)
    process = subprocess.Popen(
        [str(python.parent / "bobstay"), "serve", "--port", "0", "--no-browser"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": without_node["PATH"]},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#code=", process.stdout.readline())
        assert found
        status, headers, page = get(int(found[1]), "/")
        assert (status, headers["cache-control"]) == (200, "no-cache")
        assert page == (sources / STATIC / "web/index.html").read_bytes()
        scripts = re.findall(rb'src="(/assets/[^"]+\.js)"', page)
        assert scripts
        for script in scripts:
            status, headers, body = get(int(found[1]), script.decode())
            assert (status, headers["content-type"]) == (200, "text/javascript; charset=utf-8")
            assert "immutable" in headers["cache-control"]
            assert body == (sources / STATIC / "web" / script.decode().lstrip("/")).read_bytes()
    finally:
        process.terminate()
        process.wait(LIMIT)
        process.stdout.close()


def test_without_page_and_node_no_package_is_made_and_the_reason_is_told(
    sources: Path, without_node: dict[str, str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("web", "dist"))
    done = build(copy, without_node)
    assert done.returncode != 0
    assert "Install Node.js 20.19 or newer" in " ".join(done.stderr.split())
    assert not list((copy / "dist").glob("bobstay*"))


@pytest.mark.parametrize("built", [False, True])
def test_where_there_is_no_node_make_run_says_so_in_one_line_and_goes_on(
    without_node: dict[str, str], tmp_path: Path, built: bool
) -> None:
    variables = {**without_node, "PATH": commands(tmp_path / "bin", *NEEDED)}
    for name in ("scripts/web.sh", "web/package.json", "web/package-lock.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    if built:
        (tmp_path / STATIC / "web").mkdir(parents=True)
        (tmp_path / STATIC / "web/index.html").write_text(PAGE)
    for arguments, code in (([], 1), (["--or-plain"], 0)):
        done = subprocess.run(
            ["bash", "scripts/web.sh", *arguments], cwd=tmp_path, env=variables, capture_output=True, check=False
        )
        assert done.returncode == code
        assert done.stderr.count(b"\n") == 1
        assert b"Node.js 20.19 or newer is needed" in done.stderr
    assert (b"The console is the one built before." if built else b"The console is a plain page.") in done.stderr


def commands(folder: Path, *names: str) -> str:
    """A folder for PATH that holds these commands alone."""
    folder.mkdir()
    for name in names:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)


def installed(wheel: Path, variables: dict[str, str], folder: Path) -> Path:
    """The interpreter of a new environment with the wheel; its dependencies are borrowed, so nothing is fetched."""
    python = folder / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True, timeout=LIMIT)
    command = [str(UV), "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)]
    subprocess.run(command, env=variables, check=True, timeout=LIMIT)
    own = Path(ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    borrowed = ask(Path(sys.executable), "import sysconfig; print(sysconfig.get_path('purelib'))")
    # Such a line adds a folder without what editable packages in it would add, so bobstay is the one of the wheel.
    (own / "borrowed.pth").write_text(borrowed + "\n")
    assert ask(python, "import bobstay; print(bobstay.__file__)") == str(own / "bobstay/__init__.py")
    return python


def ask(python: Path, program: str) -> str:
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT)
    return done.stdout.strip()


def get(port: int, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()
