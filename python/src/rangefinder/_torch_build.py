# SPDX-License-Identifier: MIT
"""Builds the component for LibTorch from the sources that a wheel holds, for the torch that is installed here.

    python -m rangefinder build-torch

The file is kept in $XDG_CACHE_HOME/rangefinder (~/.cache/rangefinder) under the version of torch and a digest of the
sources, so that each version is built once.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import hashlib
import mmap
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
from typing import Any, Callable, Iterator, List, Optional, Tuple

from . import _library

NAME = "librangefinder_torch.so.0"
# A class that LibTorch has if it was built with c10d (lib/source/torch/CMakeLists.txt asks the same).
_C10D = b"_ZN4c10d12ProcessGroupC1"
_JOB_BYTES = 2_500_000_000  # a file that includes LibTorch's headers takes up to that while it is compiled
_Say = Callable[[str], None]


class CannotBuild(Exception):
    """What is missing, and what to do about it."""


def sources() -> Optional[pathlib.Path]:
    """The folder with them; None where this package did not come as a wheel that has everything."""
    folder = _library.PREFIX / "share/rangefinder/torch"
    return folder if (folder / "lib/source/torch").is_dir() else None


def place(torch: Any) -> pathlib.Path:
    """Where the component for that torch is, or will be once it is built."""
    folder = sources()
    if folder is None:
        raise CannotBuild("this installation of rangefinder has no sources of the component for LibTorch: install its "
                          "wheel, or build rangefinder with -D RANGEFINDER_TORCH=ON")
    digest = hashlib.sha256()
    for root in (folder, _library.PREFIX / "include"):
        for file in sorted(root.rglob("*")):
            if file.is_file():
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(cache) / "rangefinder" / f"torch-{torch.__version__}-{digest.hexdigest()[:12]}" / NAME


def build(torch: Any, *, force: bool = False, say: Optional[_Say] = None) -> pathlib.Path:
    """Builds it unless it is there, or anew with `force`. `say` takes lines about what is done.

    Errors:  CannotBuild: no compiler, no headers, a file that does not compile; its text has the compiler's.
    Threads: any number of processes may ask for the same; one builds, the others wait for it.
    """
    path = place(torch)
    if path.exists() and not force:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent / "lock"):
            if path.exists() and not force:
                return path
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                _build_in(pathlib.Path(folder), torch, path, say or (lambda line: None))
    except OSError as error:
        raise CannotBuild(f"the component for LibTorch cannot be built in {path.parent}: {error}. XDG_CACHE_HOME names "
                          "another folder") from error
    return path


@contextlib.contextmanager
def _locked(file: pathlib.Path) -> Iterator[None]:
    with open(file, "w", encoding="ascii") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)  # ends with the file
        yield


def _build_in(folder: pathlib.Path, torch: Any, path: pathlib.Path, say: _Say) -> None:
    source = sources()
    assert source is not None  # place() has looked
    root = pathlib.Path(torch.__file__).resolve().parent
    if not (root / "include/torch/csrc/api/include/torch/version.h").exists():
        raise CannotBuild(f"the component for LibTorch needs the headers of torch, and {root / 'include'} holds none. The "
                          "wheels of PyTorch have them; some distributions put them into a package of their own")
    compiler = _compiler()
    flags, notes = _flags(torch, root, source)
    for note in notes:
        say(note)
    files = _files(source, root)
    say(f"compiling {len(files)} files for torch {torch.__version__} with {compiler[0]}; this takes a minute or two")
    objects = [folder / f"{number}.o" for number in range(len(files))]

    def compile_one(number: int) -> None:
        _run([*compiler, *flags, "-c", str(files[number]), "-o", str(objects[number])])

    with concurrent.futures.ThreadPoolExecutor(_jobs()) as pool:
        list(pool.map(compile_one, range(len(files))))
    linked = folder / NAME
    _run([*compiler, "-shared", *_link_flags(root, source), *map(str, objects), str(_library.PREFIX / "lib" / _library.NAME),
          *_libraries(root), "-o", str(linked)])
    os.replace(linked, path)
    say(f"built {path}")


def _compiler() -> List[str]:
    given = shlex.split(os.environ.get("CXX", ""))
    for words in ([given] if given else [["c++"], ["g++"], ["clang++"]]):
        found = shutil.which(words[0])
        if found is None:
            continue
        done = subprocess.run([found, *words[1:], "-std=c++20", "-x", "c++", "-fsyntax-only", "-"], input="#include <span>\n",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return [found, *words[1:]]
        raise CannotBuild(f"the component for LibTorch needs a compiler for C++20 (g++ 12 or newer, clang 15 or newer), "
                          f"and {found} is none:\n{done.stdout[-1000:]}")
    raise CannotBuild("the component for LibTorch has to be compiled, and there is no C++ compiler (" +
                      (" ".join(given) if given else "c++, g++, clang++") +
                      "). Install one (Debian, Ubuntu: apt-get install g++), or name it in CXX")


def _flags(torch: Any, root: pathlib.Path, source: pathlib.Path) -> Tuple[List[str], List[str]]:
    """What to compile with, and what the component will lack."""
    notes = []
    cuda, cuda_headers = 0, []
    if (root / "lib/libc10_cuda.so").exists():
        found = _cuda_headers(root)
        if found is None:
            notes.append("no headers of CUDA's runtime: memory of devices will not be recorded. Install nvidia-cuda-runtime "
                         "and nvidia-cuda-crt of the version of CUDA that torch was built with, or set CUDA_HOME")
        else:
            cuda, cuda_headers = 1, ["-isystem", str(found)]
    include = root / "include"
    return ([
        "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-fno-plt", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
        "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-w",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", f"-DRANGEFINDER_TORCH_CUDA={cuda}",
        f"-I{_library.PREFIX / 'include'}", f"-I{source / 'lib'}", "-isystem", str(include),
        "-isystem", str(include / "torch/csrc/api/include"), *cuda_headers
    ], notes)


def _cuda_headers(root: pathlib.Path) -> Optional[pathlib.Path]:
    """The wheels of CUDA stand beside torch. Headers of the runtime include those of the compiler: both have to be there."""
    folders = sorted(root.parent.glob("nvidia/*/include"))
    folders += [pathlib.Path(home) / "include" for home in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda") if home]
    for folder in folders:
        if (folder / "cuda_runtime_api.h").exists() and (folder / "crt/host_defines.h").exists():
            return folder
    return None


def _files(source: pathlib.Path, root: pathlib.Path) -> List[pathlib.Path]:
    has_c10d = ((root / "include/torch/csrc/distributed/c10d/ProcessGroup.hpp").exists() and
                _holds(root / "lib/libtorch_cpu.so", _C10D))
    left_out = {"no_collectives.cpp"} if has_c10d else {"c10d_calls.cpp", "collectives.cpp"}
    files = [file for file in sorted((source / "lib/source/torch").glob("*.cpp")) if file.name not in left_out]
    return files + [source / "lib/capi/torch.cpp"]


def _holds(path: pathlib.Path, text: bytes) -> bool:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(text) >= 0


def _link_flags(root: pathlib.Path, source: pathlib.Path) -> List[str]:
    nvidia = [f"-Wl,-rpath-link,{folder}" for folder in sorted(root.parent.glob("nvidia/*/lib"))]
    # nodelete: LibTorch keeps pointers to the callbacks.
    return [f"-Wl,-soname,{NAME}", f"-Wl,--version-script={source / 'rangefinder.map'}", "-Wl,-z,nodelete", "-Wl,-z,relro",
            "-Wl,-z,now", "-Wl,-z,noexecstack", *nvidia]


def _libraries(root: pathlib.Path) -> List[str]:
    """By name only, without a search path: whoever loads the component has imported torch."""
    libraries = ["libtorch_cpu.so", "libc10.so"]
    if (root / "lib/libtorch_cuda.so").exists():
        libraries += ["libtorch_cuda.so", "libc10_cuda.so"]
    return [f"-L{root / 'lib'}", *(f"-l:{name}" for name in libraries)]


def _jobs() -> int:
    try:
        memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _JOB_BYTES
    except (ValueError, OSError):
        memory = 1
    return max(1, min(len(os.sched_getaffinity(0)), memory))


def _run(words: List[str]) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise CannotBuild(f"the component for LibTorch cannot be compiled: {shlex.join(words)}\nends with status "
                          f"{done.returncode}:\n{done.stdout[-4000:]}")
