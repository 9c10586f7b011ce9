# SPDX-License-Identifier: MIT
"""Reads the declaration of a session's options, lib/session/options.toml, and says what each is called where."""
import re
import tomllib

DECLARATION = "lib/session/options.toml"
KINDS = {"text", "list", "switch", "count", "depth", "size", "time", "signal", "choice", "facts", "callback"}
FIELDS = {"key", "member", "type", "default", "shown_default", "not_empty", "least", "unit", "enum", "separator", "on",
          "text", "more", "more_c", "page", "section"}
NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
BYTES = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
LONGEST_NS = (2**63 - 1) // 2  # 146 years; more could not be added to a point in time
SIGNALS = 64  # NSIG - 1
UINT32, INT32, INT64 = 2**32 - 1, 2**31 - 1, 2**63 - 1


class Mistake(Exception):
    """The declaration is wrong."""


class Enumeration:
    def __init__(self, given):
        self.name, self.c, self.python = given["name"], given["c"], given["python"]
        self.text, self.c_prefix = given["text"], given["c_prefix"]
        self.values = [(value["name"], value["text"]) for value in given["values"]]
        self.words = [word for word, _ in self.values]

    def cpp_value(self, word):
        return f"{self.name}::k{word.title().replace('_', '')}"

    def c_value(self, word):
        return self.c_prefix + word.upper()


class Option:
    """One option, as each language spells it. Numbers are in the unit of the member."""

    def __init__(self, given, enums):
        unknown = set(given) - FIELDS
        if unknown:
            raise Mistake(f"{given.get('key')}: {sorted(unknown)[0]} is not known; one of {', '.join(sorted(FIELDS))}")
        self.key, self.kind = given["key"], given["type"]
        if self.kind not in KINDS:
            raise Mistake(f"{self.key}: type {self.kind}; one of {', '.join(sorted(KINDS))}")
        self.member = given.get("member", self.key)
        self.text = given["text"]
        self.more, self.more_c, self.page = given.get("more", ""), given.get("more_c", ""), given.get("page", "")
        self.section = given.get("section")
        self.separator = given.get("separator", "")
        self.not_empty = given.get("not_empty", False)
        self.unit = given.get("unit", "")
        if (self.kind == "time") != (self.unit in ("ms", "ns")):
            raise Mistake(f"{self.key}: a time, and nothing else, has the unit ms or ns")
        if (self.kind == "list") != bool(self.separator):
            raise Mistake(f"{self.key}: a list, and nothing else, has a separator")
        self.enum = enums[given["enum"]] if self.kind == "choice" else None
        self.on = self.number(given["on"]) if "on" in given else None
        self.default_text = given.get("default", "")
        self.shown_default = given.get("shown_default", self.default_text)
        self.least_text = given.get("least", "")
        self.is_number = self.kind not in ("text", "list", "facts", "callback")
        if self.is_number:
            self.default = self.number(self.default_text)
            self.least = self.number(self.least_text) if self.least_text else 0
            self.most = {"switch": 1, "count": UINT32, "depth": INT32, "size": INT64, "signal": SIGNALS,
                         "choice": len(self.enum.words) - 1 if self.enum else 0,
                         "time": LONGEST_NS // NANOSECONDS.get(self.unit, 1)}[self.kind]
            if not self.least <= self.default <= self.most:
                raise Mistake(f"{self.key}: the default {self.default_text} is outside of its limits")

    def number(self, text):
        """What a text of a configuration stands for."""
        words = {"switch": ["off", "on"], "choice": self.enum.words if self.kind == "choice" else []}.get(self.kind, [])
        if text in words:
            return words.index(text)
        if text in ("none", "off"):
            return 0
        digits, suffix = re.fullmatch(r"(-?\d+)(\w*)", text).groups() if re.fullmatch(r"-?\d+\w*", text) else ("", "")
        factor = {"size": BYTES, "time": {**NANOSECONDS, "": 10**6}}.get(self.kind, {"": 1}).get(suffix)
        if not digits or factor is None:
            raise Mistake(f"{self.key}: {text!r} is not a {self.kind}")
        number = int(digits) * factor
        if self.kind == "time":
            if number % NANOSECONDS[self.unit]:
                raise Mistake(f"{self.key}: {text} is not a whole number of {self.unit}")
            number //= NANOSECONDS[self.unit]
        return number

    @property
    def in_struct(self):
        """The last part of the member."""
        return self.member.rsplit(".", 1)[-1]

    @property
    def c_name(self):
        return self.in_struct + (f"_{self.unit}" if self.kind == "time" else "")

    @property
    def takes(self):
        """What stands behind key=, in short."""
        return {"text": "TEXT", "list": f"NAME{self.separator}NAME", "switch": "on|off", "count": "N", "depth": "N",
                "size": "SIZE", "time": "on|off|TIME" if self.on else "TIME", "signal": "SIGNAL", "facts": "TEXT",
                "choice": "|".join(self.enum.words) if self.enum else ""}[self.kind]

    @property
    def wanted(self):
        """What a value in a configuration has to be, for messages: "'x' is not ..."."""
        if self.kind == "switch":
            return "on or off"
        if self.kind == "choice":
            return any_of(self.enum.words)
        if self.kind in ("count", "depth"):
            return f"a whole number from {self.least} to {self.most}"
        if self.kind == "signal":
            return f"none, USR1, USR2, HUP or the number of a signal, at most {SIGNALS}"
        least = f"at least {self.least_text} and " if self.least_text else ""
        if self.kind == "size":
            return f"a size of {least}less than 8EiB, such as {self.default_text} (units K, M, G, KiB, MiB, GiB)"
        if self.kind == "time":
            example = self.default_text if self.default else "200ms"
            switch = "on, off or " if self.on else ""
            return f"{switch}a time of {least}at most 146 years, such as {example} (units ns, us, ms, s, min)"
        if self.kind == "list":
            return f"a list of names separated by {self.separator}, none of them empty"
        return "a text that is not empty" if self.not_empty else ""

    @property
    def c_wanted(self):
        if self.kind == "choice":
            return any_of([f"{self.enum.c_value(word)} ({place})" for place, word in enumerate(self.enum.words)])
        if self.kind == "signal":
            return f"the number of a signal, from 1 to {SIGNALS}, or 0 for none"
        if self.kind == "size":
            return f"a number of bytes of at least {self.least}"
        if self.kind == "time":
            return f"a time in {self.unit} from {self.least} to {self.most} (146 years)"
        return f"a number from {self.least} to {self.most}"


def any_of(words):
    return ", ".join(words[:-1]) + " or " + words[-1]


class Declaration:
    def __init__(self, text):
        given = tomllib.loads(text)
        self.enums = {each["name"]: Enumeration(each) for each in given["enum"]}
        self.options = [Option(each, self.enums) for each in given["option"]]
        self.by_key = {option.key: option for option in self.options}
        if len(self.by_key) != len(self.options):
            raise Mistake("a key is declared twice")
        self.c_members = given["c"]["members"]
        self.by_c_name = {option.c_name: option for option in self.options}
        besides = {"struct_size", "config", "metadata_count", "on_capture_ready_user"}
        listed = [name for name in self.c_members if name not in besides and not name.startswith("reserved")]
        for name in sorted(set(self.by_c_name) ^ set(listed)):
            raise Mistake(f"{name}: in the options or in [c] members, and not in both")
        if len(set(self.c_members)) != len(self.c_members):
            raise Mistake("[c] members: a name stands there twice")

    @property
    def configured(self):
        """Options with a key of their own: all but the callback and the facts."""
        return [option for option in self.options if option.kind not in ("callback", "facts")]

    def spelled(self, text, language):
        """With {key} and {key=value} replaced by what they are called there."""
        def replacement(match):
            option, word = self.by_key[match[1]], match[2]
            if language == "page":
                return f"`{match[0][1:-1]}`"
            if language == "help":
                return match[0][1:-1]
            if word is None:
                return f"`{option.in_struct if language == 'c++' else option.c_name}`"
            if language == "c++":
                return f"`{option.enum.cpp_value(word)}`"
            return option.enum.c_value(word) if language == "c" else f'`{option.c_name}="{word}"`'

        text = re.sub(r"\{(\w+)(?:=(\w+))?\}", replacement, text)
        return text.replace("`", "") if language == "help" else text
