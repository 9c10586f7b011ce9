#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A wheel as its users have it: what is in it, and that it works where nothing else is installed. ./dev wheel runs this.

    wheel_test.py --source SOURCE --folder FOLDER_WITH_ONE_WHEEL [--python PYTHON ...] [--torch PYTHON]

--python: the interpreters to install into; default: each of python3.10 to python3.13 that runs here. --torch: one of an
environment with torch, for which the component is built.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile

NEWEST_GLIBC = 36  # of Debian 12
PREFIX = "rangefinder/_prefix/"
# Each has to match a file, and each file one of them.
CONTENT = [
    r"rangefinder/\w+\.py", r"rangefinder/fleet/\w+\.(py|sql)", r"rangefinder/py\.typed", r"rangefinder_command/__init__\.py",
    PREFIX + r"bin/rangefinder", PREFIX + r"lib/librangefinder\.so\.0", PREFIX + r"lib/librangefinder_bench\.so\.0",
    PREFIX + r"lib/librangefinder_injection\.so", PREFIX + r"lib/libnccl-profiler-rangefinder\.so",
    PREFIX + r"lib/cmake/rangefinder/rangefinder[\w-]*\.cmake", PREFIX + r"include/rangefinder/(\w+/)*\w+\.hpp",
    PREFIX + r"include/rangefinder/c/\w+\.h", PREFIX + r"share/doc/rangefinder/(licenses/[\w.+-]+|\w+(\.md)?)",
    PREFIX + r"share/rangefinder/torch/(lib/(\w+/)+\w+\.[ch]pp|rangefinder\.map)",
    r"rangefinder-[\d.]+\.data/data/share/man/man1/rangefinder\.1",
    r"rangefinder-[\d.]+\.data/data/share/(bash-completion/completions/rangefinder|zsh/site-functions/_rangefinder|"
    r"fish/vendor_completions\.d/rangefinder\.fish)",
    r"rangefinder-[\d.]+\.dist-info/(METADATA|RECORD|WHEEL|entry_points\.txt)",
    r"rangefinder-[\d.]+\.dist-info/(licenses/)?LICENSE",
    # Some versions of auditwheel leave a list of the parts.
    r"rangefinder-[\d.]+\.dist-info/sboms/[\w.-]+",
]
OPTIONAL = {CONTENT[-1]}
MAY_NEED = re.compile(r"lib(c|m|dl|pthread|gcc_s|stdc\+\+)\.so\.|ld-linux|librangefinder(_bench)?\.so\.0$")
LICENCES = ("zstd", "zlib", "deflate", "sqlite", "fmt", "xxhash", "protozero", "cli11", "nlohmann")
RECORDS = """
import sys, rangefinder
assert rangefinder.__file__.startswith(sys.prefix), rangefinder.__file__
with rangefinder.Session(sys.argv[1]) as session:
    for step in range(3):
        with rangefinder.range("forward"):
            pass
        session.step()
"""
RECORDED = """
import rangefinder, sys
with rangefinder.range("forward"):
    pass
sys.exit(7)
"""


def fail(text):
    sys.exit(f"FAILED: {text}")


def run(*words, status=0, **options):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("PYTHON", "RANGEFINDER_", "LD_LIBRARY_PATH"))}
    environment = {**clean, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **options.pop("env", {})}
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment, **options)
    if done.returncode != status:
        fail(f"{' '.join(map(str, words))}\nexit status {done.returncode}, not {status}\n{done.stdout}")
    return done.stdout


def check_name(wheel, version):
    match = re.fullmatch(rf"rangefinder-{re.escape(version)}-py3-none-(\S+)\.whl", wheel.name)
    if not match:
        fail(f"{wheel.name}: expected rangefinder-{version}-py3-none-PLATFORM.whl")
    glibc = [int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", match[1])]
    if not glibc or min(glibc) > NEWEST_GLIBC:
        fail(f"{wheel.name} is for no system as old as Debian 12 (glibc 2.{NEWEST_GLIBC})")


def check_content(files):
    names = [name for name in files.namelist() if not name.endswith("/")]
    for pattern in CONTENT:
        if pattern not in OPTIONAL and not any(re.fullmatch(pattern, name) for name in names):
            fail(f"nothing in the wheel matches {pattern}")
    unexpected = [name for name in names if not any(re.fullmatch(pattern, name) for pattern in CONTENT)]
    if unexpected:
        fail("unexpected in the wheel:\n  " + "\n  ".join(unexpected))
    for name in LICENCES:
        if not any(name in licence.rsplit("/", 1)[1] for licence in names if "/licenses/" in licence):
            fail(f"no licence text of {name}, which is linked into the libraries")
    command = next(entry for entry in files.infolist() if entry.filename == PREFIX + "bin/rangefinder")
    if not (command.external_attr >> 16) & stat.S_IXUSR:
        fail("the command is not executable")
    print(f"{len(names)} files, {sum(entry.file_size for entry in files.infolist()) >> 10} KiB unpacked")


def check_needed(files, folder):
    """Of other libraries, those of C and C++ alone."""
    files.extractall(folder)
    for file in sorted((folder / PREFIX).rglob("*")):
        if not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
            continue
        dynamic = run("readelf", "--wide", "--dynamic", file)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        unexpected = [name for name in needed if not MAY_NEED.match(name)]
        if not needed or unexpected:
            fail(f"{file.name} needs {unexpected or 'nothing, which cannot be'}")
        if re.search(r"R(UN)?PATH.*\[(?!\$ORIGIN)", dynamic):
            fail(f"{file.name} has a search path of the machine that built it:\n{dynamic}")
        print(f"{file.name} needs {' '.join(needed)}")


def interpreters(given):
    if given:
        return given
    found = []
    for minor in range(10, 14):
        path = shutil.which(f"python3.{minor}")
        works = path and subprocess.run([path, "-c", "import venv"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL).returncode == 0
        if works:
            found.append(path)
        else:
            print(f"python3.{minor} is not here")
    return found or fail("no Python to install into")


def check_installed(python, wheel, version, folder):
    run(python, "-m", "venv", folder)
    bin_folder = folder / "bin"
    run(bin_folder / "python", "-m", "pip", "install", "--no-index", wheel)
    command = bin_folder / "rangefinder"
    if run(command, "--version") != f"rangefinder {version}\n":
        fail("the command does not say its version")
    capture = folder / "a.rfcap"
    run(bin_folder / "python", "-c", RECORDS, capture)
    rows = json.loads(run(command, "report", capture, "--view", "tree", "--json"))["rows"]
    if [(row["path"], row["count"]) for row in rows] != [("forward", 3)]:
        fail(f"the report of the recording: {rows}")
    run(command, "export", capture, "-o", folder / "a.pt.trace.json.gz")
    run(command, "export", capture, "-o", folder / "a.html")
    # By the Python of this environment: that of PATH has no rangefinder.
    if "SELECT" not in run(command, "fleet", folder, "--view", "loss", "--sql"):
        fail("fleet does not find its Python")
    run(command, "record", "-o", folder / "b.rfcap", "--", bin_folder / "python", "-c", RECORDED, status=7)
    if "forward" not in run(command, "report", folder / "b.rfcap", "--view", "tree"):
        fail("`rangefinder record` has recorded nothing")
    for option in ("--cmake-dir", "--include-dir", "--library", "--command"):
        path = pathlib.Path(run(bin_folder / "python", "-m", "rangefinder", option).strip())
        if not path.exists() or folder not in path.parents:
            fail(f"python -m rangefinder {option}: {path}")
    if not (folder / "share/man/man1/rangefinder.1").stat().st_size:
        fail("no manual page")
    print(f"{run(python, '--version').strip()}: installed, records, reports, exports")


def check_cmake(python, source, folder):
    """A C++ program is built with the headers and the CMake package of the wheel."""
    if not shutil.which("cmake") or not shutil.which("c++"):
        print("no cmake or no compiler: the CMake package is not tried")
        return
    package = run(python, "-m", "rangefinder", "--cmake-dir").strip()
    build = folder / "consumer"
    run("cmake", "-S", source / "examples/consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={package}")
    run("cmake", "--build", build)
    if "nothing lost" not in run(build / "consumer", folder / "consumer.rfcap"):
        fail("the program that was built with the wheel records nothing")
    print("find_package works with the wheel")


def check_torch(python, wheel, folder):
    run(python, "-m", "venv", "--system-site-packages", folder)
    own = folder / "bin/python"
    run(own, "-m", "pip", "install", "--no-index", wheel)
    cache = {"XDG_CACHE_HOME": str(folder / "cache")}
    site = run(python, "-c", "import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))").splitlines()[-1]
    cache["PYTHONPATH"] = site  # of an environment that this one may not look into
    path = run(own, "-m", "rangefinder", "build-torch", env=cache).splitlines()[-1]
    run(own, "-c", "import torch, rangefinder; rangefinder.torch.enable()",
        env={**cache, "RANGEFINDER_BUILD_TORCH": "off"})
    print(f"the component for LibTorch is built and loaded: {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--python", action="append")
    parser.add_argument("--torch")
    options = parser.parse_args()
    wheels = sorted(options.folder.resolve().glob("*.whl"))
    if len(wheels) != 1:
        fail(f"{options.folder} holds {len(wheels)} wheels")
    version = re.search(r"project\(rangefinder VERSION ([\d.]+)", (options.source / "CMakeLists.txt").read_text())[1]
    check_name(wheels[0], version)
    with tempfile.TemporaryDirectory(prefix="rangefinder-wheel-") as name:
        folder = pathlib.Path(name).resolve()
        with zipfile.ZipFile(wheels[0]) as files:
            check_content(files)
            check_needed(files, folder / "unpacked")
        for number, python in enumerate(interpreters(options.python)):
            check_installed(python, wheels[0], version, folder / f"environment{number}")
        check_cmake(folder / "environment0/bin/python", options.source.resolve(), folder)
        if options.torch:
            check_torch(options.torch, wheels[0], folder / "with_torch")


if __name__ == "__main__":
    main()
