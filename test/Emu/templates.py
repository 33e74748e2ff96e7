"""Templates of instructions: `(a|b)` is one of several, `{a|b}` at most one."""

import itertools
import re


def registers(letter, count, first=0):
    return "{" + ", ".join(f"%{letter}{first + i}" for i in range(count)) + "}"


def expand(template):
    """All texts of a template."""
    parts = []
    for part in re.findall(r"\([^)]*\)|\{[^}]*\}|[^({]+", template):
        if part[0] == "(":
            parts.append(part[1:-1].split("|"))
        elif part[0] == "{":
            parts.append([""] + part[1:-1].split("|"))
        else:
            parts.append([part])
    return ["".join(choice) for choice in itertools.product(*parts)]
