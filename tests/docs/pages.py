# SPDX-License-Identifier: MIT
"""Pages of the documentation, and what they show: blocks of code, commands, inline code."""
import dataclasses
import re


@dataclasses.dataclass
class Block:
    page: str      # "docs/how-to/install.md"
    line: int
    language: str  # of the fence; "indented": a block by indentation; "": a fence without a language
    text: str
    after: int     # the index of the block right before it, with nothing in between; -1: there is text

    @property
    def where(self):
        return f"{self.page}:{self.line}"


@dataclasses.dataclass
class Command:
    page: str
    line: int
    text: str    # without comment and prompt
    shown: str   # what the page shows as its output; "": nothing
    shown_line: int = 0
    inline: bool = False

    @property
    def where(self):
        return f"{self.page}:{self.line}"


def pages(root):
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def blocks_of(root, page):
    """In order. Indented paragraphs of a list are no blocks."""
    name, found, previous_end, in_list = str(page.relative_to(root)), [], -1, False
    lines = page.read_text().split("\n")
    i = 0
    while i < len(lines):
        fence = re.match(r"```(\w*)$", lines[i])
        indented = re.match(r"    \S", lines[i]) and (i == 0 or not lines[i - 1].strip()) and not in_list
        if not fence and not indented:
            if lines[i].strip() and not lines[i].startswith(" "):
                in_list = bool(re.match(r"([-*]|\d+\.) ", lines[i]))
            i += 1
            continue
        begin = i
        if fence:
            end = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```"))
            text, i = lines[i + 1:end], end + 1
        else:
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                i += 1
            text = [line[4:] for line in lines[begin:i]]
        joined = previous_end >= 0 and not "".join(lines[previous_end:begin]).strip()
        found.append(Block(name, begin + 1, fence[1] if fence else "indented", "\n".join(text).rstrip("\n"),
                           len(found) - 1 if joined else -1))
        previous_end = i
    return found


def commands_of(block):
    """The lines of a block, those that end with a backslash joined."""
    commands, line, begin = [], "", block.line
    for number, text in enumerate(block.text.split("\n"), block.line + (block.language != "indented")):
        begin = begin if line else number
        line += text
        if line.endswith("\\"):
            line = line[:-1]
            continue
        command = re.sub(r"(^|\s+)#.*", "", re.sub(r"^\$ ", "", line)).strip()
        if command:
            commands.append(Command(block.page, begin, re.sub(r"  +", " ", command), ""))
        line = ""
    return commands


def inline_code(root, page):
    """Text in backquotes, outside of blocks."""
    name, text = str(page.relative_to(root)), page.read_text()
    text = re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), text, flags=re.S | re.M)
    return [Command(name, text[:m.start()].count("\n") + 1, m[1].replace("\\|", "|"), "", inline=True)
            for m in re.finditer(r"`([^`\n]+)`", text)]
