"""Parses every example in the documentation of the dialect's ops and types.

    check_examples.py <jfa-opt> <directory of .td files>

Every op has to have an example in which it occurs. Ops' examples are whole
files; a line of a type's or an attribute's example is one type or attribute.
"""

import pathlib
import re
import subprocess
import sys

EXAMPLE = re.compile(r"^( *)```mlir\n(.*?)^\1```$", re.M | re.S)
OP = re.compile(r'TLX_\w*Op<"(\w+)"')


def definitions(text):
    """Each `def`'s name and text."""
    starts = [m.start() for m in re.finditer(r"^def ", text, re.M)]
    for begin, end in zip(starts, starts[1:] + [len(text)]):
        yield text[begin + 4 : end].split()[0].rstrip(":<"), text[begin:end]


def examples(body):
    for indent, text in EXAMPLE.findall(body):
        yield "".join(
            line[len(indent) :] or "\n" for line in text.splitlines(keepends=True)
        )


def as_file(text, is_op):
    """The example as something that can be parsed."""
    if is_op:
        return text
    if text.lstrip().startswith("#"):
        return "#example = " + text
    return "".join(
        f"func.func private @f{i}({line})\n"
        for i, line in enumerate(text.splitlines())
    )


def main(tool, directory):
    failures, ops, count = [], 0, 0
    for path in sorted(pathlib.Path(directory).glob("*.td")):
        for name, body in definitions(path.read_text()):
            op = OP.search(body.split("{", 1)[0])
            found = list(examples(body))
            if op:
                ops += 1
                if not any(f"tlx.{op[1]}" in text for text in found):
                    failures.append(f"{name}: expected an example")
            for text in found:
                count += 1
                result = subprocess.run(
                    [tool, "--verify-roundtrip", "-"],
                    input=as_file(text, bool(op)),
                    capture_output=True,
                    text=True,
                )
                if result.returncode:
                    failures.append(f"{name}:\n{text}{result.stderr}")
    print("\n".join(failures))
    print(f"{count} examples of {ops} ops, {len(failures)} failures")
    return bool(failures)


sys.exit(main(*sys.argv[1:]))
