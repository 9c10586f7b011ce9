#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks who includes whom: layering.py SOURCE_TREE.

- A room is a folder of lib/ whose CMakeLists.txt says rangefinder_room(NAME ... USES ...). It includes its own headers,
  public headers, and headers of the rooms that it USES; every room in USES is one that exists, and none uses itself,
  directly or in a circle.
- A folder may hold several rooms, where one is a part that another library shares: they use all that any of them uses, and
  who uses one of them may include the headers of the folder.
- A folder that only holds rooms (lib/source) may hold headers for all of them: they and the rooms that use one of them
  may include these, which in turn include what one of them uses.
- A folder of lib/ without a room (the executable) includes its own headers, public headers, and those of the rooms
  whose targets (rangefinder_NAME) it links.
- The recording half and the reading half do not know each other.
- A public header includes public headers and the standard library of C++17; LibTorch only under torch/.

Prints one line for each breach and exits with 1 when there is any.
"""
import pathlib
import re
import sys

# What both halves stand on, what records, what reads; rooms that join the halves are named, not guessed.
SHARED = {"base", "clock", "format"}
RECORDING = {"buffer", "source", "session", "injection"}
READING = {"capture", "timeline", "importer", "projection", "analysis", "advice", "report", "query", "exporter", "compare"}
JOINING = {"summary", "doctor", "capi", "mcp", "bench", "cli"}

CXX17 = set("""
algorithm any array atomic bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath codecvt complex condition_variable csetjmp csignal cstdarg cstdbool cstddef cstdint cstdio cstdlib
cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator limits list locale map memory memory_resource mutex new
numeric optional ostream queue random ratio regex scoped_allocator set shared_mutex sstream stack stdexcept streambuf
string string_view system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility
valarray variant vector
""".split())
C11 = {"stdbool.h", "stddef.h", "stdint.h"}
INTRINSICS = {"x86intrin.h"}
LIBTORCH = ("torch/", "ATen/", "c10/")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.M)
COMMAND = re.compile(r"\b(\w+)\s*\(((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\([^()]*\))*)\)")
SOURCES = (".hpp", ".h", ".cpp", ".cu", ".in")


class Room:
    def __init__(self, name, folder, uses):
        self.name, self.folder, self.uses = name, folder, uses


def commands(file):
    """The commands of a CMakeLists.txt, in order, with the words that variables can stand for filled in."""
    text = re.sub(r"#[^\n]*", "", file.read_text())
    variables = {}
    for name, arguments in COMMAND.findall(text):
        words = []
        for word in arguments.split():
            reference = re.fullmatch(r"\$\{(\w+)\}", word)
            words += variables.get(reference[1], []) if reference else [word.strip('"')]
        if name == "set" and words:
            # Every value it ever has, whatever the condition: the rule is about all configurations.
            variables.setdefault(words[0], []).extend(words[1:])
        elif name == "list" and words[:1] == ["APPEND"]:
            variables.setdefault(words[1], []).extend(words[2:])
        yield name, words


def read_rooms(lib):
    """Rooms by name, and by folder without a room: the rooms whose targets it links."""
    rooms, linked = {}, {}
    for file in sorted(lib.rglob("CMakeLists.txt")):
        folder = file.parent.relative_to(lib).as_posix()
        if folder == ".":
            continue
        found = False
        for name, words in commands(file):
            if name == "rangefinder_room" and words:
                uses, inside = [], False
                for word in words[1:]:
                    if word in ("SOURCES", "LINKS", "SEPARATE", "USES"):
                        inside = word == "USES"
                    elif inside:
                        uses.append(word)
                rooms[words[0]] = Room(words[0], folder, set(uses))
                found = True
            elif name == "target_link_libraries":
                linked.setdefault(folder, set()).update(
                    word[len("rangefinder_"):] for word in words[1:] if word.startswith("rangefinder_"))
        if not found:
            linked.setdefault(folder, set())
    return rooms, {folder: names for folder, names in linked.items()
                   if folder not in {room.folder for room in rooms.values()}}


def half_of(folder):
    top = folder.split("/")[0]
    for half, names in (("shared", SHARED), ("recording", RECORDING), ("reading", READING), ("joining", JOINING)):
        if top in names:
            return half
    return None


def includes(file):
    text = file.read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


class Checker:
    def __init__(self, root):
        self.root = root
        self.lib = root / "lib"
        self.rooms, self.linked = read_rooms(self.lib)
        self.by_folder = {}
        for room in self.rooms.values():
            self.by_folder.setdefault(room.folder, []).append(room)
        self.breaches = []
        self.files = 0

    def breach(self, where, text):
        self.breaches.append(f"{where}: {text}")

    def owner(self, path):
        """The folder of lib/ that a path belongs to: the deepest with a room, or the folder that holds rooms."""
        folder = pathlib.PurePosixPath(path).parent
        for candidate in (folder, *folder.parents):
            name = candidate.as_posix()
            if name in self.by_folder or name in self.linked:
                return name
        return folder.as_posix()

    # ---- the lists themselves
    def check_lists(self):
        for room in self.rooms.values():
            where = f"lib/{room.folder}/CMakeLists.txt"
            if half_of(room.folder) is None:
                self.breach(where, f"room {room.name}: say in tests/layering/layering.py which half it belongs to")
            for used in sorted(room.uses):
                if used not in self.rooms:
                    self.breach(where, f"uses {used}, which is no room")
                elif not self.may_know(room.folder, self.rooms[used].folder):
                    self.breach(where, f"{room.name} uses {used}: the two halves must not meet here")
        state = {}
        for name in sorted(self.rooms):
            self.find_circle(name, [], state)

    def find_circle(self, name, path, state):
        if state.get(name) == "done" or name not in self.rooms:
            return
        if name in path:
            circle = path[path.index(name):] + [name]
            self.breach(f"lib/{self.rooms[name].folder}/CMakeLists.txt", "uses itself: " + " -> ".join(circle))
            return
        for used in sorted(self.rooms[name].uses):
            self.find_circle(used, path + [name], state)
        state[name] = "done"

    @staticmethod
    def may_know(user, used):
        halves = half_of(user), half_of(used)
        if halves[1] == "joining":
            return halves[0] == "joining"
        return "joining" in halves or halves[1] == "shared" or halves[0] == halves[1]

    # ---- includes
    def check_lib(self):
        for file in sorted(self.lib.rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            self.files += 1
            path = file.relative_to(self.lib).as_posix()
            user = self.owner(path)
            for line, _, quoted in includes(file):
                if quoted is None:
                    continue
                where = f"lib/{path}:{line}"
                if not (self.lib / quoted).is_file():
                    if not (file.parent / quoted).is_file():
                        self.breach(where, f'"{quoted}" is not a file of lib/')
                    else:
                        self.breach(where, f'"{quoted}": write the path from lib/ on')
                    continue
                self.check_include(where, user, self.owner(quoted), quoted)

    def check_include(self, where, user, used, header):
        if user == used:
            return
        allowed = self.allowed(user)
        if used in self.by_folder:
            names = {room.name for room in self.by_folder[used]}
            if not names & allowed:
                self.breach(where, f'"{header}" is of room {" or ".join(sorted(names))}, which {user} does not use')
        elif not self.shares_family(user, used, allowed):
            self.breach(where, f'"{header}" is for the rooms in lib/{used} and those who use one of them')

    def allowed(self, user):
        """The rooms whose headers the files of a folder may include."""
        if user in self.by_folder:
            return set().union(*(room.uses for room in self.by_folder[user]))
        members = [room.uses for room in self.rooms.values() if room.folder.startswith(user + "/")]
        return self.linked.get(user, set()).union(*members)

    def shares_family(self, user, family, allowed):
        if user.startswith(family + "/"):
            return True
        return any(self.rooms[name].folder.startswith(family + "/") for name in allowed if name in self.rooms)

    def check_public(self):
        include = self.root / "include"
        for file in sorted(include.rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            self.files += 1
            path = file.relative_to(include)
            where = f"include/{path.as_posix()}"
            for line, angled, quoted in includes(file):
                place = f"{where}:{line}"
                if quoted is not None:
                    self.breach(place, f'"{quoted}": public headers are included with <>')
                elif angled.startswith("rangefinder/"):
                    self.check_public_include(place, path, angled, include)
                elif angled.startswith(LIBTORCH):
                    if path.parts[1:2] != ("torch",):
                        self.breach(place, f"<{angled}>: LibTorch only in include/rangefinder/torch")
                elif angled not in (C11 if file.suffix == ".h" else CXX17 | INTRINSICS):
                    self.breach(place, f"<{angled}> is not of the standard library of C++17")

    def check_public_include(self, place, path, angled, include):
        if not (include / angled).is_file() and not (include / (angled + ".in")).is_file():
            self.breach(place, f"<{angled}> is no public header")
        elif angled.startswith("rangefinder/torch/") and path.parts[1:2] != ("torch",):
            self.breach(place, f"<{angled}>: nothing outside of torch/ may need LibTorch")

    def check(self):
        self.check_lists()
        self.check_lib()
        self.check_public()
        if len(self.rooms) < 3 or self.files < 3:
            self.breach(self.root, f"only {len(self.rooms)} rooms and {self.files} files: nothing was checked")
        return self.breaches


def main():
    checker = Checker(pathlib.Path(sys.argv[1]).resolve())
    breaches = checker.check()
    for breach in breaches:
        print(breach)
    print(f"{len(checker.rooms)} rooms, {checker.files} files, {len(breaches)} breaches")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
