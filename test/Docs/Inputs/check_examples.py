"""Checks that code blocks marked with `<!-- file: NAME -->` in README.md and docs/
are the contents of that file, that those marked with `<!-- from NAME -->` are excerpts
of it but for indentation, that links lead to files that exist, that the kernel
which the README explains line by line has at most 40 lines, and that docs/Language.md
names every op of the dialect."""

import pathlib
import re
import sys

MARKED = re.compile(r"<!-- file: (\S+) -->\n+```\w*\n(.*?)```\n", re.S)
EXCERPT = re.compile(r"<!-- from (\S+) -->\n+```\w*\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


EXPLAINED, MOST_LINES = "docs/examples/product.mlir", 40
OP = re.compile(r'^def \w+\s*:\s*TLX_\w*Op<"(\w+)"', re.M)


def squeeze(text):
    """The lines of a text without indentation and empty lines, as one text."""
    return "".join(f"\n{line.strip()}" for line in text.splitlines() if line.strip()) + "\n"


def check_language(root):
    """Ops that the table of families in docs/Language.md does not name."""
    page = (root / "docs/Language.md").read_text()
    named = set(re.findall(r"`(\w+)`", page.split("## Types")[0]))
    ops = set()
    for path in sorted((root / "include/jfa/Dialect/TLX/IR").glob("*Ops.td")):
        ops.update(OP.findall(path.read_text()))
    problems = [f"Language.md: expected the op '{op}' in the table of families, "
                "but got none" for op in sorted(ops - named)]
    if len(ops) < 30:
        problems.append(f"expected all ops to be found, but got {len(ops)}")
    return problems


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
        for name, code in EXCERPT.findall(text):
            if squeeze(code) not in squeeze((root / name).read_text()):
                problems.append(f"{page.name}: expected the block from {name} to be in it")
        for link in LINK.findall(text):
            target = (page.parent / link).resolve()
            if not target.exists():
                problems.append(f"{page.name}: expected {link} to exist")
    lines = (root / EXPLAINED).read_text().count("\n")
    if lines > MOST_LINES:
        problems.append(f"expected {EXPLAINED} to have at most {MOST_LINES} lines, "
                        f"but got {lines}")
    problems += check_language(root)
    if not marked:
        problems.append("expected some block to be marked with its file, but got none")
    print("\n".join(problems))
    return bool(problems)


sys.exit(main())
