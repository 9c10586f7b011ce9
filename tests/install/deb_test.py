#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Debian packages: what is in each, what each depends on, and that the command runs from them. ./dev deb runs this.

    deb_test.py --folder FOLDER_WITH_THE_PACKAGES
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Package: files that it has to hold, what it has to depend on.
PACKAGES = {
    "librangefinder0": ([r"usr/lib/\S+/librangefinder\.so\.0", r"usr/lib/\S+/librangefinder_injection\.so",
                         r"usr/lib/\S+/libnccl-profiler-rangefinder\.so", r"usr/share/doc/rangefinder/LICENSE"],
                        [r"libc6 \(>= 2\.\d+\)", r"libstdc\+\+6", "libzstd1", "libsqlite3-0", "libdeflate0", "zlib1g"]),
    "rangefinder": ([r"usr/bin/rangefinder", r"usr/share/man/man1/rangefinder\.1",
                     r"usr/share/bash-completion/completions/rangefinder"], [r"librangefinder0 \(= \S+\)"]),
    "librangefinder-dev": ([r"usr/include/rangefinder/range\.hpp", r"usr/lib/\S+/librangefinder\.so",
                            r"usr/lib/\S+/cmake/rangefinder/rangefinderConfig\.cmake", r"usr/lib/\S+/pkgconfig/rangefinder\.pc"],
                           [r"librangefinder0 \(= \S+\)", r"rangefinder \(= \S+\)"]),
}


def fail(text):
    sys.exit(f"FAILED: {text}")


def run(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, words))}\nexit status {done.returncode}\n{done.stdout}")
    return done.stdout


def check_package(file, files, depends):
    listed = re.findall(r"\s\./(\S+)(?: -> \S+)?$", run("dpkg-deb", "--contents", file), re.M)
    for pattern in files:
        if not any(re.fullmatch(pattern, name) for name in listed):
            fail(f"{file.name} holds nothing like {pattern}")
    unexpected = [name for name in listed if not name.startswith("usr/")]
    if unexpected:
        fail(f"{file.name} would install outside of /usr: {unexpected}")
    fields = run("dpkg-deb", "--field", file, "Depends")
    for pattern in depends:
        if not re.search(rf"(^|, ){pattern}", fields):
            fail(f"{file.name} does not depend on {pattern}, only on {fields}")
    print(f"{file.name}: {len(listed)} files, depends on {fields.strip()}")
    return listed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    folder = parser.parse_args().folder
    found = {run("dpkg-deb", "--field", file, "Package").strip(): file for file in folder.glob("*.deb")}
    if sorted(found) != sorted(PACKAGES):
        fail(f"the packages are {sorted(found)}, not {sorted(PACKAGES)}")
    owner = {}
    for name, (files, depends) in PACKAGES.items():
        for path in check_package(found[name], files, depends):
            if not path.endswith("/") and owner.setdefault(path, name) != name:
                fail(f"{path} is in {owner[path]} and in {name}")
    with tempfile.TemporaryDirectory(prefix="rangefinder-deb-") as root:
        for file in found.values():
            run("dpkg-deb", "--extract", file, root)
        print(run(f"{root}/usr/bin/rangefinder", "--version").strip())
        if "record" not in run(f"{root}/usr/bin/rangefinder", "--help"):
            fail("the command does not record")


if __name__ == "__main__":
    main()
