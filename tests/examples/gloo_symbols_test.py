#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No program of ours has tables that were made from examples/common/gloo_declarations. Those declare less than Gloo has: a
virtual table or type information made from them could take the place of that of LibTorch's library.

    gloo_symbols_test.py --nm nm PROGRAM...
"""
import argparse
import subprocess
import sys

# Virtual tables, type information and its names, of what the declarations declare and what LibTorch derives from it.
FORBIDDEN = tuple(kind + name for kind in ("_ZTV", "_ZTI", "_ZTS", "_ZTT")
                  for name in ("N4gloo", "N4c10d16ProcessGroupGloo9GlooStore"))
OURS = "make_gloo"


def symbols(nm, program):
    """(type, name) of each, defined or not."""
    text = subprocess.run([nm, program], capture_output=True, text=True, check=True).stdout
    return [tuple(line.split()[-2:]) for line in text.splitlines() if len(line.split()) >= 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", required=True)
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    failed = False
    for program in arguments.programs:
        found = symbols(arguments.nm, program)
        if not any(OURS in name for _, name in found):
            print(f"{program}: no symbol {OURS}: stripped, or not what this test is for")
            failed = True
        for kind, name in found:
            if name.startswith(FORBIDDEN):
                print(f"{program}: {name} ({kind})")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
