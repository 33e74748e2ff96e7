"""Checks that code blocks marked with `<!-- file: NAME -->` in README.md and docs/
are the contents of that file, and that links lead to files that exist."""

import pathlib
import re
import sys

MARKED = re.compile(r"<!-- file: (\S+) -->\n+```\w*\n(.*?)```\n", re.S)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = []
    marked = 0
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        text = page.read_text()
        for name, code in MARKED.findall(text):
            marked += 1
            if (root / name).read_text() != code:
                problems.append(f"{page.name}: expected the block of {name} to be that file")
        for link in LINK.findall(text):
            target = (page.parent / link).resolve()
            if not target.exists():
                problems.append(f"{page.name}: expected {link} to exist")
    if not marked:
        problems.append("expected some block to be marked with its file, but got none")
    print("\n".join(problems))
    return bool(problems)


sys.exit(main())
