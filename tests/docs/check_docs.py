#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_docs.py SOURCE_TREE: links lead somewhere, all pages can be reached, lists of keys, options and headers are complete."""
import ast
import pathlib
import re
import sys

from pages import pages

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FACTS = {"cupti_clock", "cupti_notes", "crash_safe"}  # of a capture, beside its counters
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def dead_links(root):
    """Links to files that are not there, and pages of docs/ that no other page links to."""
    reached = set()
    for page in pages(root):
        for link in LINK.findall(CODE.sub("", page.read_text())):
            if re.match(r"[a-z]+:", link) or link.startswith("#"):
                continue
            target = (page.parent / link.split("#")[0]).resolve()
            reached.add(target)
            if not target.exists():
                yield f"{page.relative_to(root)}: {link} is not there"
    for page in (root / "docs").rglob("*.md"):
        if page.resolve() not in reached:
            yield f"{page.relative_to(root)}: no page leads here"


def dead_mentions(root):
    """Pages that a comment in the sources sends its reader to."""
    found = 0
    for folder in ("include", "lib", "tests", "examples", "benchmarks", "cmake", "python"):
        for source in sorted((root / folder).rglob("*")):
            if source.suffix not in (".hpp", ".cpp", ".h", ".cmake", ".txt", ".py", ".md", ".in") or source == pathlib.Path(__file__):
                continue
            for page in re.findall(r"docs/[a-z-]+/[a-z0-9/-]+\.md", source.read_text(errors="replace")):
                found += 1
                if not (root / page).exists():
                    yield f"{source.relative_to(root)}: {page} is not there"
    if found == 0:
        yield "the sources mention no page; has the search gone wrong?"


def differences(what, code, text):
    """Two lists that must be the same, in the same order."""
    if not code:
        yield f"{what}: none found in the code; has it moved?"
    for name in [name for name in code if name not in text]:
        yield f"{what}: {name} is not in the documentation"
    for name in [name for name in text if name not in code]:
        yield f"{what}: {name} is documented and not in the code"
    if sorted(code) == sorted(text) and code != text:
        yield f"{what}: documented in another order than in the code"


def first_column(page, heading):
    """Names in backquotes in the first column of the table with that first heading."""
    table = page.read_text().split(f"| {heading} |", 1)[1].split("\n\n")[0]
    return [name for row in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def c_api(root):
    """The page of the C interface names each function of the headers."""
    file = root / "docs/reference/c-api.md"
    for header, heading in (("rangefinder", "function"), ("torch", "function of `torch`")):
        folder = root / "include/rangefinder/c"
        text = (folder / f"{header}.h").read_text()
        if header == "rangefinder":  # which is nothing but its parts
            text = "".join((folder / part).read_text() for part in re.findall(r"^#include <rangefinder/c/(\w+\.h)>", text, re.M))
        functions = re.findall(r"^RF_API .*?\b(rf_\w+)\(", text, re.M)
        yield from differences(f"functions of c/{header}.h", sorted(functions), sorted(first_column(file, heading)))


def python_api(root):
    """The page of the Python package names all that it offers."""
    page = root / "docs/reference/python-api.md"
    for module, heading in (("__init__", "name"), ("torch", "name of `rangefinder.torch`")):
        tree = ast.parse((root / f"python/src/rangefinder/{module}.py").read_text())
        names = [ast.literal_eval(node.value) for node in tree.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
        documented = [re.match(r"\w+", name)[0] for name in first_column(page, heading)]
        yield from differences(f"names of {module}.py", sorted(names[0] if names else []), sorted(documented))


def faults(root):
    """Each row of the page of faults names files with tests, and counters that there are."""
    counters = set(re.findall(r"^  X\((\w+), \d+", (root / "include/rangefinder/health.hpp").read_text(), re.M))
    rows = 0
    for line in (root / "docs/reference/faults.md").read_text().splitlines():
        if not line.startswith("| ") or line.startswith("| injected fault |"):
            continue
        rows += 1
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        files = re.findall(r"`([^`]+)`", cells[-1])
        if len(cells) != 4 or not files:
            yield f"docs/reference/faults.md: a row that is not `fault | reaction | report | file`: {line[:60]}"
            continue
        for name in files:
            file = root / "tests" / name
            if not file.exists() or not re.search(r"TEST_CASE\(|def test_", file.read_text()):
                yield f"docs/reference/faults.md: {name} has no tests"
        for name in re.findall(r"`([a-z]+_[a-z_]+)`", cells[2]):
            if name not in counters | FACTS:
                yield f"docs/reference/faults.md: there is no counter `{name}`"
    if rows < 40:
        yield f"docs/reference/faults.md: {rows} rows found; has its table moved?"


TERMS = """range, range instance, payload, domain, user counter track, step, goodput, activity, launch, correlation id, autograd node,
forward thread, sequence number, caching allocator, device allocation, GPU projection, attribution, owner, inclusive time, self time, host time,
peak throughput, session, capture, live file, flight recorder, unmodified binary, CUPTI subscription, health counters, timeline, overview,
hardware counters, PM sampling, perf events, rank, collective, process group, latency, skew, bus bandwidth, exposed communication, straggler,
bubble, hang, A/B benchmark, baseline and optimized variant, correctness check, regression gate"""


def glossary(root):
    """Each term has an explanation, an example and a link."""
    text = (root / "docs/reference/glossary.md").read_text()
    entries = dict(re.findall(r"^### (.*)\n((?:(?!#).*\n)+)", text, re.M))
    for term in re.split(r",\s+", TERMS):
        if term.lower() not in map(str.lower, entries):
            yield f"docs/reference/glossary.md: {term} is missing"
    for term, entry in entries.items():
        explanation, _, example = entry.partition("\nExample: ")
        if not explanation or "See [" not in example:
            yield f"docs/reference/glossary.md: {term} needs an explanation, a line `Example: ...` and a link `See [...](...)`"
    for page in pages(root):
        for target, anchor in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", CODE.sub("", page.read_text())):
            file = (page.parent / target).resolve() if target and ":" not in target else page
            headings = re.findall(r"^#+ (.*)", file.read_text(), re.M) if file.suffix == ".md" and file.exists() else None
            if headings is not None and anchor not in map(anchor_of, headings):
                yield f"{page.relative_to(root)}: {target}#{anchor} is no heading"


def anchor_of(heading):
    """As GitHub makes it of a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def avoided_words(root):
    """The glossary lists phrases that no page may use."""
    page = root / "docs/reference/glossary.md"
    table = page.read_text().split("| avoid | write |", 1)[1]
    phrases = [row.split(" | ")[0].strip("| ") for row in table.splitlines()[2:]]
    if len(phrases) < 8:
        yield "docs/reference/glossary.md: no table of words to avoid found; has it moved?"
    for other in pages(root):
        if other == page or other.name == "CHANGELOG.md":
            continue
        text = re.sub(r"\s+", " ", other.read_text()).lower()
        for phrase in [phrase for phrase in phrases if re.search(rf"\b{re.escape(phrase)}\b", text)]:
            yield f"{other.relative_to(root)}: says `{phrase}`; docs/reference/glossary.md has a better word"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = [*dead_links(root), *dead_mentions(root)]

    keys = re.findall(r'^    \{\.key = "(\w+)",', (root / "lib/session/option_table.cpp").read_text(), re.M)
    documented = [key for key in first_column(root / "docs/reference/configuration.md", "key") if key != "meta.NAME"]
    problems += differences("keys of RANGEFINDER_CONFIG", keys, documented)

    cmake = re.findall(r"^(?:option|set)\((RANGEFINDER_\w+) .*", (root / "CMakeLists.txt").read_text(), re.M)
    options = first_column(root / "docs/how-to/install.md", "option")
    options = [name if name.startswith("RANGEFINDER") else "RANGEFINDER_BUILD" + name for name in options]
    problems += differences("build options", sorted(cmake), sorted(options))

    folder = root / "include/rangefinder"
    headers = [str(header.relative_to(folder)).removesuffix(".in") for header in [*folder.rglob("*.hpp*"), *folder.rglob("*.h")]]
    headers = [header for header in headers if not header.startswith("detail/")]
    problems += differences("headers", sorted(headers), sorted(first_column(root / "docs/reference/headers.md", "header")))

    problems += c_api(root)
    problems += python_api(root)
    problems += faults(root)
    problems += glossary(root)
    problems += avoided_words(root)

    for problem in problems:
        print(problem)
    print(f"{len(pages(root))} pages, {len(keys)} keys, {len(cmake)} options, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
