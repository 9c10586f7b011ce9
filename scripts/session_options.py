#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""session_options.py [--check] [SOURCE_TREE]: writes what follows from lib/session/options.toml into the files below.

Each file has regions between lines with `[generated: NAME]` and `[/generated]`; the rest of it is written by hand.
--check writes nothing, prints the differences and fails if there are any. Needs Python 3.11.
"""
import difflib
import pathlib
import re
import sys
import textwrap

from option_declaration import DECLARATION, NANOSECONDS, Declaration, Mistake, any_of

COLUMNS = 120


def parted(blocks, blank=1):
    """The lines of the blocks, with blank lines between two of them."""
    for place, block in enumerate(blocks):
        yield from [""] * (blank if place else 0)
        yield from block


def sentences(*texts):
    return " ".join(text if text.endswith(".") else text + "." for text in texts if text)


def comment(indent, text):
    lead = " " * indent + "/// "
    return [lead + line for line in textwrap.wrap(text, COLUMNS - len(lead), break_long_words=False, break_on_hyphens=False)]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def with_unit(option, text):
    """64MiB: 64 MiB."""
    return re.sub(r"^(-?\d+)([A-Za-z]+)$", r"\1 \2", text)


# ---- C++ -------------------------------------------------------------------------------------------------------------
def grouped(number):
    return f"{number:,}".replace(",", "'")


def cpp_declaration(option):
    name = option.in_struct
    if option.kind == "size":
        shift = next(shift for shift in (30, 20, 10, 0) if option.default % (1 << shift) == 0)
        return f"std::uint64_t {name} = std::uint64_t{{{option.default >> shift}}} << {shift};"
    return {
        "text": lambda: f"std::string {name}{{}};",
        "list": lambda: f"std::vector<std::string> {name}{{}};",
        "switch": lambda: f"bool {name} = {'true' if option.default else 'false'};",
        "count": lambda: f"std::uint32_t {name} = {option.default};",
        "depth": lambda: f"int {name} = {option.default};",
        "time": lambda: f"std::chrono::{'milliseconds' if option.unit == 'ms' else 'nanoseconds'} "
                        f"{name}{{{grouped(option.default)}}};",
        "signal": lambda: f"int {name} = {option.default};",
        "choice": lambda: f"{option.enum.name} {name} = {option.enum.cpp_value(option.default_text)};",
        "facts": lambda: f"std::vector<std::pair<std::string, std::string>> {name}{{}};",
        "callback": lambda: f"std::function<void(const CaptureReady&)> {name}{{}};",
    }[option.kind]()


def cpp_enumeration(declaration, enum):
    yield from comment(0, declaration.spelled(enum.text, "c++"))
    yield f"enum class {enum.name} : std::uint8_t {{"
    for word, text in enum.values:
        yield from comment(2, declaration.spelled(sentences(text), "c++"))
        yield f"  {enum.cpp_value(word).split('::')[1]},"
    yield "};"


def cpp_enumerations(declaration):
    return parted(cpp_enumeration(declaration, enum) for enum in declaration.enums.values())


def cpp_member(declaration, option):
    least = f"At least {with_unit(option, option.least_text)}" if option.is_number and option.least > 0 else ""
    yield from comment(2, sentences(declaration.spelled(option.text, "c++"), least, option.more))
    yield "  " + cpp_declaration(option)


def cpp_schedule(declaration):
    for option in declaration.options:
        if option.member.startswith("schedule."):
            yield from cpp_member(declaration, option)


def cpp_members(declaration):
    has_schedule = False
    for option in declaration.options:
        if option.section is not None:
            yield from [""] if option is not declaration.options[0] else []
            if option.section:
                yield f"  // {option.section}"
        if not option.member.startswith("schedule."):
            yield from cpp_member(declaration, option)
        elif not has_schedule:
            has_schedule = True
            yield "  /// Which steps are recorded."
            yield "  Schedule schedule{};"


def cpp_table(declaration):
    """Rows of lib/session/option_table.cpp."""
    for enum in declaration.enums.values():
        words = ", ".join(quoted(word) for word in enum.words)
        yield f"constexpr std::string_view k{enum.name}Words[] = {{{words}}};"
    yield ""
    yield "constexpr Option kOptions[] = {"
    for option in declaration.configured:
        row = [f".key = {quoted(option.key)}", f".member = {quoted(option.member)}",
               f".kind = Kind::k{option.kind.title()}"]
        if option.is_number:
            row += [f".least = {option.least}", f".most = {option.most}"]
            if option.kind == "time":
                row.append(f".unit_ns = {NANOSECONDS[option.unit]}")
            if option.on:
                row.append(f".on = {option.on}")
            if option.enum:
                row.append(f".words = k{option.enum.name}Words")
            row.append(f".get = [](const SessionOptions& o) {{ return number_of(o.{option.member}); }}")
            row.append(f".set = [](SessionOptions& o, std::int64_t n) {{ set_number(o.{option.member}, n); }}")
        else:
            if option.separator:
                row.append(f".separator = '{option.separator}'")
            if option.not_empty:
                row.append(".not_empty = true")
            row.append(f".{option.kind} = &SessionOptions::{option.member}")
        if option.wanted:
            row.append(f".wanted = {quoted(option.wanted)}")
        yield "    {" + ",\n     ".join(row) + "},"
    yield "};"


# ---- C ---------------------------------------------------------------------------------------------------------------
C_TYPES = {"text": "const char*", "list": "const char*", "switch": "bool", "count": "uint32_t", "depth": "int32_t",
           "size": "uint64_t", "time": "int64_t", "signal": "int32_t", "choice": "uint32_t"}


def c_enumeration(declaration, enum):
    yield from comment(0, declaration.spelled(enum.text, "c"))
    yield f"typedef enum {enum.c} {{"
    for place, (word, text) in enumerate(enum.values):
        yield from comment(2, declaration.spelled(sentences(text), "c"))
        yield f"  {enum.c_value(word)} = {place}{',' if place + 1 < len(enum.values) else ''}"
    yield f"}} {enum.c};"


def c_enumerations(declaration):
    return parted(c_enumeration(declaration, enum) for enum in declaration.enums.values())


def c_facts(option):
    """Type, default and limits of a member in words."""
    if option.kind == "choice":
        return f"An {option.enum.c}; default {option.enum.c_value(option.default_text)}"
    if option.kind == "list":
        return f"Names separated by {option.separator}; null counts as empty"
    if option.kind == "text":
        return f"Null: {option.shown_default}" if option.shown_default else "Null counts as empty"
    if not option.is_number:
        return ""
    default = {"switch": "true" if option.default else "false", "size": with_unit(option, option.default_text),
               "signal": "0: none"}.get(option.kind, str(option.default))
    least = option.least_text if option.kind == "size" else str(option.least)
    return f"Default {default}" + (f", at least {with_unit(option, least)}" if option.least > 0 else "")


def c_members(declaration):
    besides = {
        "struct_size": ["  size_t struct_size;"],
        "config": comment(2, 'A configuration, "key=value,...", applied on top of all members. Null: none.') +
                  ["  const char* config;"],
        "metadata_count": ["  size_t metadata_count;"],
        "on_capture_ready_user": ["  void* on_capture_ready_user;"],
    }
    for name in declaration.c_members:
        if name in besides:
            yield from besides[name]
        elif name.startswith("reserved"):
            yield "  /// Must be false."
            yield f"  bool {name};"
        else:
            option = declaration.by_c_name[name]
            yield from comment(2, sentences(declaration.spelled(option.text, "c"), c_facts(option), option.more_c))
            if option.kind == "facts":
                yield f"  const rf_metadata* {name};"
            elif option.kind == "callback":
                yield f"  void (*{name})(void* user, const rf_capture_ready* capture);"
            else:
                yield f"  {C_TYPES[option.kind]} {name};"


def c_conversion(declaration):
    """Calls of lib/capi/session_members.hpp, in the order of the C struct."""
    for name in declaration.c_members:
        option = declaration.by_c_name.get(name)
        if option is None or option.kind in ("facts", "callback"):
            continue
        pair = f"given.{name}, options.{option.member}"
        if option.kind == "text":
            yield f"  visit.text({pair});"
        elif option.kind == "list":
            yield f"  visit.list({quoted(name)}, {pair}, '{option.separator}', {quoted(option.wanted)});"
        else:
            most = "kUnlimited" if option.kind == "size" else str(option.most)
            yield f"  visit.number({quoted(name)}, {pair}, Limits{{{option.least}, {most},"
            yield f"               {quoted(option.c_wanted)}}});"


# ---- Python ----------------------------------------------------------------------------------------------------------
CTYPES = {"text": "c_char_p", "list": "c_char_p", "switch": "c_bool", "count": "c_uint32", "depth": "c_int32",
          "size": "c_uint64", "time": "c_int64", "signal": "c_int32", "choice": "c_uint32", "facts": "POINTER(Metadata)",
          "callback": "CaptureReadyCallback"}
ANNOTATIONS = {"text": "str", "list": "Union[str, Sequence[str]]", "switch": "bool", "choice": "str",
               "facts": "Mapping[str, str]", "callback": "Callable[[CaptureReady], None]"}


def python_enumerations(declaration):
    return parted(([f"class {enum.python}(enum.IntEnum):"] +
                   [f"    {word.upper()} = {place}" for place, word in enumerate(enum.words)]
                   for enum in declaration.enums.values()), blank=2)


def python_enumeration_names(declaration):
    for enum in declaration.enums.values():
        yield f'    "{enum.c}": {enum.python},'


def python_choices(declaration):
    for option in declaration.options:
        if option.enum:
            yield f'    "{option.c_name}": {option.enum.python},'


def python_lists(declaration):
    yield "SESSION_LISTS = {"
    for option in declaration.options:
        if option.kind == "list":
            yield f'    "{option.c_name}": "{option.separator}",'
    yield "}"


def python_fields(declaration):
    besides = {"struct_size": "c_size_t", "config": "c_char_p", "metadata_count": "c_size_t", "on_capture_ready_user": "c_void_p"}
    for name in declaration.c_members:
        if name.startswith("reserved"):
            yield f'        ("reserved", c_bool * {re.search(r"[0-9]+", name)[0]}),'
        else:
            kind = besides.get(name) or CTYPES[declaration.by_c_name[name].kind]
            yield f'        ("{name}", {kind}),'


def python_facts(option):
    if option.kind == "choice":
        return f"{any_of([quoted(word) for word in option.enum.words])}; default {quoted(option.default_text)}"
    if option.kind == "list":
        return f"A list of names, or a text with {option.separator} between them"
    if option.kind == "signal":
        return "Default 0: none"
    if option.kind == "switch":
        return f"Default {bool(option.default)}"
    return c_facts(option) if option.is_number else ""


def python_arguments(declaration):
    output = declaration.by_key["output"]
    yield "    def __init__("
    yield "        self,"
    yield f"        {output.c_name}: Optional[Path] = None,"
    yield "        *,"
    yield "        config: Optional[str] = None,"
    others = [option for option in declaration.options if option is not output]
    for option in others:
        yield f"        {option.c_name}: Optional[{ANNOTATIONS.get(option.kind, 'int')}] = None,"
    yield "    ):"
    yield '        """Starts recording. None stands for the default.'
    yield ""
    entries = [("output", declaration.spelled(sentences(output.text), "python")),
               ("config", "A configuration, as in RANGEFINDER_CONFIG, applied on top of the other arguments.")]
    entries += [(option.c_name, sentences(declaration.spelled(option.text, "python"), python_facts(option)))
                for option in others]
    for name, text in entries:
        yield from textwrap.wrap(f"{name}: {text}", COLUMNS, initial_indent=" " * 8, subsequent_indent=" " * 12,
                                 break_long_words=False, break_on_hyphens=False)
    yield '        """'


# ---- the page, and the help of the command ---------------------------------------------------------------------------
def page_takes(option):
    if option.kind == "choice":
        return ", ".join(f"`{word}`" for word in option.enum.words)
    at_least = f", at least `{option.least_text}`" if option.least_text else ""
    return {"text": "text", "list": f"names separated by `{option.separator}`".replace("|", "\\|"),
            "switch": "`on`, `off`", "count": "number" + at_least, "depth": "number" + at_least, "size": "size" + at_least,
            "time": ("`on`, `off`, " if option.on else "") + "time" + at_least, "signal": "signal", "facts": "text"}[option.kind]


def page_table(declaration):
    yield ""
    yield "| key | member of `SessionOptions` | takes | default | |"
    yield "|---|---|---|---|---|"
    for option in declaration.options:
        if option.kind != "callback":
            default = f"`{option.shown_default}`" if option.shown_default else ""
            text = sentences(declaration.spelled(option.text, "page"), option.page)
            yield f"| `{option.key}` | `{option.member}` | {page_takes(option)} | {default} | {text} |"
    yield ""


def help_rows(declaration):
    for option in declaration.options:
        if option.kind != "callback":
            least = f"At least {option.least_text}" if option.is_number and option.least > 0 else ""
            text = sentences(declaration.spelled(option.text, "help"), least)
            yield f"    {{{quoted(option.key)}, {quoted(option.takes)}, {quoted(option.shown_default)},"
            yield f"     {quoted(text)}}},"


REGIONS = {
    "include/rangefinder/session_options.hpp": {
        "enumerations": cpp_enumerations, "schedule": cpp_schedule, "members": cpp_members},
    "include/rangefinder/c/session.h": {"enumerations": c_enumerations, "members": c_members},
    "lib/session/option_table.cpp": {"options": cpp_table},
    "lib/capi/session_members.hpp": {"members": c_conversion},
    "lib/cli/session_keys.cpp": {"keys": help_rows},
    "python/src/rangefinder/_abi.py": {
        "enumerations": python_enumerations, "names of enumerations": python_enumeration_names, "choices": python_choices,
        "lists": python_lists, "members": python_fields},
    "python/src/rangefinder/session.py": {"arguments": python_arguments},
    "docs/reference/configuration.md": {"options": page_table},
}
REGION = re.compile(r"^(?P<begin>[^\n]*\[generated: (?P<name>[^\]]+)\][^\n]*\n)(?P<body>.*?)(?P<end>^[^\n]*\[/generated\][^\n]*\n)", re.M | re.S)


def rewritten(path, text, declaration):
    """The file with its regions as the declaration wants them."""
    wanted = dict(REGIONS[path])

    def region(match):
        if match["name"] not in wanted:
            raise Mistake(f"{path}: no region is called {match['name']}, or it stands there twice")
        return match["begin"] + "".join(line + "\n" for line in wanted.pop(match["name"])(declaration)) + match["end"]

    text = REGION.sub(region, text)
    for name in wanted:
        raise Mistake(f"{path}: the region {name} is missing")
    return text


def run(root, check):
    """The differences, as lines; writes the files unless `check`."""
    declaration = Declaration((root / DECLARATION).read_text())
    changes = []
    for path in REGIONS:
        old = (root / path).read_text()
        new = rewritten(path, old, declaration)
        changes += difflib.unified_diff(old.splitlines(True), new.splitlines(True), path, path + ", from the declaration")
        if new != old and not check:
            (root / path).write_text(new)
    return changes


def main(arguments):
    check = "--check" in arguments
    folders = [argument for argument in arguments if argument != "--check"]
    root = pathlib.Path(folders[0]) if folders else pathlib.Path(__file__).resolve().parent.parent
    try:
        changes = run(root, check)
    except Mistake as mistake:
        print(f"{DECLARATION}: {mistake}")
        return 1
    if check and changes:
        sys.stdout.writelines(changes)
        print(f"not current: run scripts/session_options.py after a change of {DECLARATION}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
