#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses an installed rangefinder as a stranger would. One check a run; see CMakeLists.txt beside this file.

    RANGEFINDER_UPDATE_GOLDEN=1 ctest --preset dev -R install.symbols     # after reading the difference
writes exported_symbols.txt anew.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
NAMES_OF_OURS = re.compile(r"(?:(?:vtable|typeinfo(?: name)?|VTT) for )?rangefinder::|rf_|InitializeInjection(?:Nvtx2|NvtxExtension)?$|ncclProfiler_v[1-6]$")
# Whatever else the library needs has to be thought about: it is loaded into other people's programs.
MAY_NEED = re.compile(r"lib(stdc\+\+|m|gcc_s|c|dl|pthread|zstd|z|deflate|sqlite3|fmt|dw)\.so\.|ld-linux")
PRIVATE = re.compile(r"\b(fmt|zstd|sqlite|deflate|zlib|ZLIB|xxhash|Catch2|CLI11|nlohmann_json|Threads)::?\b|PkgConfig::")


def fail(text):
    sys.exit(f"FAILED: {text}")


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(0)


def run(command, expect_failure=False, **options):
    """Output of the command; fails with all of it when the exit status is not as expected."""
    words = [str(word) for word in command]
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if (result.returncode != 0) != expect_failure:
        fail(f"{' '.join(words)}\nexit status {result.returncode}\n{result.stdout}")
    return result.stdout


def thread_bytes(segments):
    found = re.search(r"^ +TLS +\S+ +\S+ +\S+ +\S+ +(0x[0-9a-f]+)", segments, re.M)
    return int(found[1], 16) if found else 0


class Check:
    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(options.work)
        self.first_prefix = self.work / "installed"
        self.root = self.work / "moved"
        self.source = pathlib.Path(options.source)

    # ---- where things are in the installed tree
    def one(self, pattern):
        found = sorted(self.root.glob(pattern))
        if not found:
            fail(f"nothing like {pattern} in {self.root}")
        return found[0]

    @property
    def library(self):
        return self.one("lib*/**/librangefinder.so").resolve()

    def configure(self, folder, *settings, source=None, build_type="Release", **options):
        shutil.rmtree(self.work / folder / "CMakeFiles", ignore_errors=True)
        (self.work / folder / "CMakeCache.txt").unlink(missing_ok=True)
        return run([self.options.cmake, "-S", source or self.source / "examples/consumer", "-B", self.work / folder,
                    "-G", self.options.generator, f"-DCMAKE_CXX_COMPILER={self.options.compiler}",
                    f"-DCMAKE_BUILD_TYPE={build_type}", *settings], **options)

    def build_and_run(self, folder):
        output = run([self.options.cmake, "--build", self.work / folder, "--target", "consumer"])
        print(output.splitlines()[-1])
        self.run_consumer(self.work / folder / "consumer")

    def run_consumer(self, program, **environment):
        capture = self.work / "consumer.rfcap"
        output = run([program, capture], env={**os.environ, **environment})
        print(output, end="")
        if not re.match(r"6 ranges in \S+, nothing lost\n", output) or capture.stat().st_size < 200:
            fail("the consumer did not record what it should")

    def need_recording(self):
        if self.options.recording not in ("ON", "1", "TRUE"):
            skip("built without the recording half, which the consumer uses")

    # ---- the checks
    def prefix(self):
        for folder in (self.first_prefix, self.root):
            shutil.rmtree(folder, ignore_errors=True)
        run([self.options.cmake, "--install", self.options.build, "--prefix", self.first_prefix])
        self.first_prefix.rename(self.root)  # whatever remembers where it was installed breaks from here on
        for pattern in ("include/rangefinder/range.hpp", "include/rangefinder/version.hpp",
                        "lib*/**/librangefinder.so.*", "lib*/**/rangefinderConfig.cmake", "lib*/**/rangefinder.pc",
                        "share/doc/*/LICENSE"):
            print(self.one(pattern).relative_to(self.root))
        if (self.root / "bin").exists():
            version = run([self.one("bin/rangefinder"), "--version"])
            if not re.match(r"rangefinder \d+\.\d+\.\d+\n$", version):
                fail(f"the installed command says of its version: {version}")
            for page in ("man/man1/rangefinder.1", "bash-completion/completions/rangefinder",
                         "zsh/site-functions/_rangefinder", "fish/vendor_completions.d/rangefinder.fish"):
                if self.one("share/" + page).stat().st_size < 100:
                    fail(f"{page} is all but empty")
        for unwanted in ("**/catch.hpp", "**/lib/base", "**/*.rfcap"):
            if list(self.root.glob(unwanted)):
                fail(f"{unwanted} was installed")

    def relocation(self):
        texts = [file for file in self.root.rglob("*") if file.suffix in (".cmake", ".pc", ".hpp", ".h")]
        for file in texts:
            content = file.read_text()
            for path in (str(self.source) + "/", str(self.options.build), str(self.first_prefix), str(self.root)):
                if path in content:
                    fail(f"{file.relative_to(self.root)} names {path}")
            leaked = PRIVATE.search(content) if file.suffix in (".cmake", ".pc") else None
            if leaked:
                fail(f"{file.relative_to(self.root)} names {leaked[0]}, which is private to the library")
        print(f"{len(texts)} files know neither where they were built nor what the library is built on")
        if len(texts) < 10:
            fail("that is too few to be true")

    def doctor(self):
        """It looks for the component torch beside the library, and does not take LibTorch itself for it."""
        if not (self.root / "bin").exists():
            skip("built without the command")
        root = self.work / "doctor"  # a copy: other checks look at the installed tree meanwhile
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.root, root, symlinks=True)

        def said(**environment):
            found = subprocess.run([root / "bin/rangefinder", "doctor", "--json"], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, **environment})
            return next(each["detail"] for each in json.loads(found.stdout)["findings"] if each["topic"] == "LibTorch")

        component = root / self.library.parent.relative_to(self.root) / "librangefinder_torch.so"
        if self.options.torch != "1":
            absent = f"component torch is not installed (no {component})"
            if not said().startswith(absent):
                fail(said())
            torch = self.work / "libtorch_cpu.so"
            run([self.options.compiler, "-shared", "-x", "c", "/dev/null", "-o", torch, "-Wl,-soname,libtorch_cpu.so"])
            loaded = said(LD_PRELOAD=str(torch))
            if not loaded.startswith(absent) or f"LibTorch is loaded from {torch}" not in loaded:
                fail(loaded)
            component.touch()
        if not said().startswith(f"component torch is installed: {component}"):
            fail(said())
        print("the component torch is found where it is installed")

    def components(self):
        built = ["core"] + ["bench", "cli"] * (self.root / "bin").exists() + ["torch"] * (self.options.torch == "1")
        found = self.work / "components"
        found.mkdir(exist_ok=True)

        def ask(request, **options):
            (found / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(ask LANGUAGES CXX)\n"
                f"find_package(rangefinder {request})\n"
                'message(STATUS "found=${rangefinder_FOUND} core=${rangefinder_core_FOUND}")\n')
            return self.configure("components/build", f"-DCMAKE_PREFIX_PATH={self.root}", source=found, **options)

        for component in built:
            if "found=1 core=TRUE" not in ask(f"0.1 REQUIRED COMPONENTS {component}"):
                fail(f"component {component} was not found")
        message = " ".join(ask("REQUIRED COMPONENTS core sparkles", expect_failure=True).split())
        if "component 'sparkles' is not in this installation of rangefinder, which has: core" not in message:
            fail(f"an unknown component gives no clear message:\n{message}")
        if "found=1 core=TRUE" not in ask("OPTIONAL_COMPONENTS sparkles"):
            fail("an optional component that is not there makes the package unusable")
        ask("99 REQUIRED", expect_failure=True)
        print(f"components: {', '.join(built)}; unknown ones and other versions are refused")

    def headers(self):
        """All headers, as C++17, with all warnings; each alone in ./dev test --all: tests/compile does that in the source."""
        include = self.one("include")
        headers = sorted(file.relative_to(include) for pattern in ("*.hpp", "*.h") for file in include.rglob(pattern))
        if not any(header.suffix == ".h" for header in headers):
            fail(f"no header for C in {include}")
        if len(headers) < 8:
            fail(f"only {len(headers)} headers in {include}")
        compilers = [self.options.compiler] + [found for found in [shutil.which("clang++")] if found]
        for compiler in compilers:
            for group in [[header] for header in headers] if os.environ.get("RANGEFINDER_EXHAUSTIVE") else [headers]:
                run([compiler, "-std=c++17", *STRICT, f"-I{include}", "-fsyntax-only", "-x", "c++", "-"],
                    input="".join(f"#include <{header}>\n" for header in group + group) + "int main() {}\n")
        print(f"{len(headers)} headers: {compilers[0]}" + "".join(f", {other}" for other in compilers[1:]))

    def find_package(self):
        self.need_recording()
        self.configure("find_package", f"-DCMAKE_PREFIX_PATH={self.root}", f"-DCMAKE_CXX_FLAGS={' '.join(STRICT)}")
        self.build_and_run("find_package")

    def add_subdirectory(self):
        # The library once more, only to see that it can be: quickly, and all of it only in ./dev test --all.
        self.configure("add_subdirectory", f"-DRANGEFINDER_SOURCE={self.source}", "-DRANGEFINDER_TORCH=OFF",
                       f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.options.launcher}", "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
                       build_type="Debug")
        if os.environ.get("RANGEFINDER_EXHAUSTIVE"):
            self.build_and_run("add_subdirectory")
            return
        compiled = ["CMakeFiles/consumer.dir/consumer.cpp.o"] if self.options.generator == "Ninja" else []
        run([self.options.cmake, "--build", self.work / "add_subdirectory", "--target", "rangefinder_base", *compiled])
        print("configured; the consumer and the room base compile. RANGEFINDER_EXHAUSTIVE=1 builds all of it")

    def pkg_config(self):
        self.need_recording()
        if not shutil.which("pkg-config"):
            skip("no pkg-config")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.one("lib*/**/pkgconfig"))}
        flags = run(["pkg-config", "--cflags", "--libs", "rangefinder"], env=environment).split()
        print(*flags)
        program = self.work / "pkg_config_consumer"
        source = self.source / "examples/consumer/consumer.cpp"
        run([self.options.compiler, "-std=c++17", *STRICT, source, "-o", program, *flags])
        self.run_consumer(program, LD_LIBRARY_PATH=str(self.library.parent))

    def readme(self):
        """The first example of each page for newcomers is a whole program but for the code of its reader."""
        self.need_recording()
        for page in ("README.md", "docs/tutorials/first-capture.md"):
            example = re.search(r"```cpp\n(.*?)```", (self.source / page).read_text(), re.S)
            if not example:
                fail(f"{page} shows no C++")
            folder = self.work / "readme"
            folder.mkdir(exist_ok=True)
            (folder / "readme.cpp").write_text(example[1])
            (folder / "yours.cpp").write_text("void forward() {}\nvoid backward() {}\n")
            run([self.options.compiler, "-std=c++17", *STRICT, "readme.cpp", "yours.cpp", "-o", "readme",
                 f"-I{self.one('include')}", self.library, f"-Wl,-rpath,{self.library.parent}"], cwd=folder)
            for capture in folder.glob("*.rfcap"):
                capture.unlink()
            run([folder / "readme"], cwd=folder)
            captures = list(folder.glob("*.rfcap"))
            if len(captures) != 1 or captures[0].stat().st_size < 200:
                fail(f"the program of {page} left {captures}")
            print(f"the program of {page} runs and leaves {captures[0].name}")

    def libtorch(self):
        """The project of docs/how-to/install.md that links LibTorch builds without a CUDA toolkit, and records operators."""
        if self.options.torch != "1":
            skip("built without the component for LibTorch")
        page = (self.source / "docs/how-to/install.md").read_text()
        project = next((text for text in re.findall(r"```cmake\n(.*?)```", page, re.S) if "LibTorch" in text), None)
        if not project:
            fail("docs/how-to/install.md shows no project that links LibTorch")
        folder = self.work / "libtorch"
        folder.mkdir(exist_ok=True)
        (folder / "CMakeLists.txt").write_text(project)
        shutil.copy(self.source / "tests/install/torch_consumer.cpp", folder / "main.cpp")
        settings = [f"-DCMAKE_PREFIX_PATH={self.root}", "-DCMAKE_CUDA_COMPILER=/none", "-DCUDAToolkit_ROOT=/none"]
        message = self.configure("libtorch/build", *settings, "-DLibTorch_ROOT=/none", source=folder, expect_failure=True)
        if "set LibTorch_ROOT to the folder torch" not in " ".join(message.split()):
            fail(f"where there is no LibTorch, the message does not say what to set:\n{message}")
        self.configure("libtorch/build", *settings, f"-DLibTorch_ROOT={self.options.torch_root}", source=folder)
        run([self.options.cmake, "--build", folder / "build"])
        capture = folder / "train.rfcap"
        capture.unlink(missing_ok=True)
        run([folder / "build/my_training", capture])
        report = run([self.one("bin/rangefinder"), "report", capture, "--view", "ops", "--csv"])
        if not re.search(r"^aten::mm,", report, re.M):
            fail(f"the program recorded no aten::mm:\n{report}")
        print("the project of docs/how-to/install.md records LibTorch's operators")

    def symbols(self):
        """What each library exports is a promise: only rangefinder's names, and exactly those on its list."""
        lists = {"exported_symbols.txt": "librangefinder.so", "exported_bench_symbols.txt": "librangefinder_bench.so",
                 "exported_injection_symbols.txt": "librangefinder_injection.so", "exported_torch_symbols.txt": "librangefinder_torch.so",
                 "exported_nccl_symbols.txt": "libnccl-profiler-rangefinder.so"}
        for name, library in lists.items():
            if name == "exported_symbols.txt" or list(self.root.glob(f"lib*/**/{library}")):
                self.symbols_of(self.one(f"lib*/**/{library}").resolve(), self.source / "tests/install" / name)

    def symbols_of(self, library, file):
        lines = run(["nm", "-D", "--defined-only", "--demangle", library]).splitlines()
        exported = sorted({line.split(" ", 2)[2] for line in lines})
        foreign = [name for name in exported if not NAMES_OF_OURS.match(name)]
        if foreign:
            fail("the library exports names that are not ours:\n  " + "\n  ".join(foreign))
        if os.environ.get("RANGEFINDER_UPDATE_GOLDEN") == "1" and self.options.recording == "ON":
            file.write_text("\n".join(exported) + "\n")
        promised = file.read_text().splitlines()
        added = sorted(set(exported) - set(promised))
        removed = sorted(set(promised) - set(exported)) if self.options.recording == "ON" else []
        if added or removed:
            fail(f"exported symbols differ from {file.name} (set RANGEFINDER_UPDATE_GOLDEN=1 to accept):\n" +
                 "".join(f"  + {name}\n" for name in added) + "".join(f"  - {name}\n" for name in removed))
        print(f"{library.name}: {len(exported)} exported names, all on the list")

    def abi(self):
        """Names, signatures, structs and enumerations of the C headers, compared with those that were promised."""
        if not shutil.which("abidw") or not shutil.which("abidiff"):
            skip("no abidiff (package abigail-tools)")
        self._exports(self.library, self._abi_of("rangefinder", "rangefinder_c.abi", 40) +
                      self._abi_of("arrow", "rangefinder_arrow_c.abi", 14))
        if self.options.torch == "1":
            self._exports(self.one("lib*/**/librangefinder_torch.so").resolve(),
                          self._abi_of("torch", "rangefinder_torch_c.abi", 12))

    def _exports(self, library, declared):
        exported = set(re.findall(r" T (rf_\w+)$", run(["nm", "-D", "--defined-only", library]), re.M))
        missing = set(declared) - exported if self.options.recording == "ON" else set()
        if missing or exported - set(declared):
            fail(f"the headers declare and {library.name} lacks {missing}; the other way round {exported - set(declared)}")

    def _abi_of(self, header, name, least):
        """The functions that a C header declares, which are as was promised."""
        promised = self.source / "tests/install" / name
        folder = self.work / f"abi-{header}"
        folder.mkdir(exist_ok=True)
        functions = self.write_stubs(header, folder / "stubs.c", least)
        run([self.options.compiler, "-x", "c", "-std=c11", "-g", "-O0", "-shared", "-fPIC", "-fvisibility=hidden",
             f"-I{self.one('include')}", "stubs.c", "-o", "librangefinder_c.so"], cwd=folder)
        run(["abidw", "--no-comp-dir-path", "--no-corpus-path", "--no-show-locs", "--out-file", "now.abi",
             "librangefinder_c.so"], cwd=folder)
        version = re.search(r"#define RF_ABI_VERSION (\d+)", self.one("include/rangefinder/c/base.h").read_text())[1]
        mark = f"<!-- RF_ABI_VERSION {version} -->\n"
        earlier = promised.read_text() if promised.exists() else ""
        released = "## Unreleased\n\nNothing has been released yet" not in (self.source / "CHANGELOG.md").read_text()
        if os.environ.get("RANGEFINDER_UPDATE_GOLDEN") == "1":
            if released and earlier.endswith(mark) and earlier != (folder / "now.abi").read_text() + mark:
                fail(f"the C interface has changed and RF_ABI_VERSION is still {version}")
            promised.write_text((folder / "now.abi").read_text() + mark)
        if not promised.read_text().endswith(mark):
            fail(f"{promised.name} was made for another RF_ABI_VERSION than {version}")
        # abidiff takes an enumerator that was added for no change.
        enumerators = [set(re.findall(r"<enumerator [^>]*>", file.read_text())) for file in (promised, folder / "now.abi")]
        if enumerators[0] != enumerators[1]:
            fail(f"enumerators differ from {promised.name} (set RANGEFINDER_UPDATE_GOLDEN=1 to accept new ones, and let "
                 f"RF_ABI_VERSION grow): {sorted(enumerators[0] ^ enumerators[1])}")
        compared = subprocess.run(["abidiff", "--no-architecture", promised, folder / "now.abi"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if compared.returncode != 0:
            fail(f"the C interface differs from {promised.name} (set RANGEFINDER_UPDATE_GOLDEN=1 to accept what old "
                 f"programs can live with, and let RF_ABI_VERSION grow):\n{compared.stdout}")
        print(f"{len(functions)} functions of c/{header}.h are as promised")
        return functions

    def write_stubs(self, name, file, least):
        """A definition for each function of the C header, and for each enumeration one that takes it: its debug
        information says all that a caller compiles in, and nothing of how the library is made."""
        parts = [name]
        if name == "rangefinder":  # which is nothing but its parts
            parts = re.findall(r"^#include <rangefinder/c/(\w+)\.h>", self.one(f"include/rangefinder/c/{name}.h").read_text(), re.M)
        header = "".join(self.one(f"include/rangefinder/c/{part}.h").read_text() for part in parts)
        declared = re.findall(r"^RF_API ([^;#]*?\b(rf_\w+)\([^;]*\)) RF_(?:NOEXCEPT|CALLS_BACK);", header, re.M)
        enumerations = re.findall(r"^typedef enum (rf_\w+) \{", header, re.M)
        structs = re.findall(r"^typedef struct (rf_\w+) \{", header, re.M)
        if (len(declared) != len(re.findall(r"\) RF_(?:NOEXCEPT|CALLS_BACK);", header)) or len(declared) < least or
                len(enumerations) != header.count("typedef enum ")):
            fail(f"{len(declared)} functions and {len(enumerations)} enumerations found in the C header")
        stubs = [f"RF_API {signature} {{ __builtin_trap(); }}" for signature, _ in declared]
        stubs += [f"RF_API void type_{name}({name} value) {{ (void)value; }}" for name in enumerations + structs]
        file.write_text(f"#include <rangefinder/c/{name}.h>\n" + "\n".join(stubs) + "\n")
        return [name for _, name in declared]

    def hardening(self):
        optimised = self.options.build_type != "Debug"
        for binary in self.binaries():
            segments = run(["readelf", "--wide", "--program-headers", binary])
            dynamic = run(["readelf", "--wide", "--dynamic", binary])
            names = run(["readelf", "--wide", "--dyn-syms", binary])
            shared = ".so" in binary.name
            facts = {
                "read-only relocations (RELRO)": "GNU_RELRO" in segments,
                "bound when loaded (NOW)": re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", dynamic),
                "no executable stack": re.search(r"GNU_STACK .* RW +0x", segments),
                "no segment both writable and executable": not re.search(r"LOAD .* RWE ", segments),
                "no text relocations": "TEXTREL" not in dynamic,
                "no search path of the build machine": not re.search(r"R(UN)?PATH.*\[(?!\$ORIGIN)", dynamic),
                "stack protector": "__stack_chk_fail" in names,
                # The components make no call that could be fortified, or only some builds of them do.
                "fortified calls": not optimised or re.search("_(torch|bench|injection|parquet)|nccl", binary.name) or re.search(r"__\w+_chk@", names.replace("__stack_chk_fail", "")),
                "cannot be unloaded (NODELETE)": not shared or re.search(r"\(FLAGS_1\).*NODELETE", dynamic),
                # No program is linked with the plugin.
                "soname": not shared or "nccl" in binary.name or re.search(r"\(SONAME\).*\[librangefinder\w*\.so\.\d+\]", dynamic),
                # Loaded with dlopen, all of it comes out of a reserve of 1.6 kB that other libraries want too.
                "little memory for each thread": not binary.name.startswith("librangefinder.so.") or thread_bytes(segments) <= 160,
                "position independent": re.search(r"Elf file type is DYN", segments),
            }
            for fact, holds in facts.items():
                if not holds:
                    fail(f"{binary.name}: {fact}: no\n{segments}\n{dynamic}")
            print(f"{binary.name}: {', '.join(facts)}")

    def binaries(self):
        libraries = {file.resolve() for file in self.root.glob("lib*/**/lib*rangefinder*.so")}
        return sorted(libraries) + [file for file in self.root.glob("bin/*")]

    def needed(self):
        for binary in self.binaries():
            names = re.findall(r"\(NEEDED\).*\[(.*)\]", run(["readelf", "--wide", "--dynamic", binary]))
            of_component = re.search("torch|parquet", binary.name)
            allowed = {"torch": r"librangefinder\.so|lib(torch|c10)", "parquet": r"lib(arrow|parquet)\.so"}.get(
                of_component and of_component[0], r"librangefinder(_bench)?\.so")
            unexpected = [name for name in names if not (MAY_NEED.match(name) or re.match(allowed, name))]
            if not names or unexpected:
                fail(f"{binary.name} needs {unexpected or 'nothing, which cannot be'}")
            if "torch" not in binary.name and re.search(r"cuda|cupti|nvidia|torch|c10|nvperf", " ".join(names)):
                fail(f"{binary.name} needs CUDA or LibTorch: {names}")
            print(f"{binary.name} needs {' '.join(names)}")


def main():
    checks = [name for name, member in vars(Check).items()
              if callable(member) and not name.startswith("_") and
              name not in ("one", "symbols_of", "configure", "build_and_run", "run_consumer", "need_recording", "binaries",
                           "write_stubs")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=checks)
    for option in ("source", "build", "work", "cmake", "generator", "compiler", "launcher", "build-type",
                   "recording", "torch"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--torch-root", default="")
    options = parser.parse_args()
    getattr(Check(options), options.check)()


if __name__ == "__main__":
    main()
