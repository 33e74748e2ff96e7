"""Checks that what a document shows is compiled or run by a test.

Every fenced block of code follows a comment that says where it comes from:

    <!-- from FILE -->   the block is an excerpt of FILE, but for indentation
    <!-- run -->         the block is a script that runs below an installation

usage: check_document.py DOCUMENT SOURCE_ROOT PREFIX
"""

import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^(?:<!-- (.*?) -->\n)?```(\w*)\n(.*?)^```$", re.M | re.S)


def squeeze(text):
    """The lines of a text without indentation and empty lines."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def is_excerpt(part, whole):
    part, whole = squeeze(part), squeeze(whole)
    size = len(part)
    return any(whole[i : i + size] == part for i in range(len(whole) - size + 1))


def check(origin, text, root, prefix):
    """Returns what is wrong with a block, or nothing."""
    if origin.startswith("from "):
        path = root / origin[len("from ") :]
        if not path.is_file():
            return f"expected a file of the repository, but got '{path}'"
        if not is_excerpt(text, path.read_text()):
            return f"expected an excerpt of {path}, but it is none"
        return None
    if origin == "run":
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=prefix,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if result.returncode:
            return f"expected a script that works, but got:\n{result.stdout}"
        return None
    return "expected a comment that says where the block comes from"


def main():
    document, root, prefix = (pathlib.Path(path) for path in sys.argv[1:4])
    text = document.read_text()
    blocks = list(BLOCK.finditer(text))
    if 2 * len(blocks) != len(re.findall(r"^```", text, re.M)):
        sys.exit(f"{document}: expected only blocks that begin and end")
    failed = False
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        problem = check(block[1] or "", block[3], root, prefix)
        if problem:
            print(f"{document}:{line}: {problem}", file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
