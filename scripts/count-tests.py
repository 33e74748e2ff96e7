"""Counts tests: count-tests.py CTEST_JUNIT [LIT_XUNIT].

A test of ctest counts as one, unless it is a suite: lit, whose tests LIT_XUNIT has,
or a program that prints `N passed, N failed, N skipped` itself. What was skipped is
named, so that it does not pass unseen.
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)


def state_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return 1
    if case.get("status") == "fail":
        return 1
    skipped = case.find("skipped") is not None
    return 2 if skipped or case.get("status") in ("notrun", "disabled") else 0


def count(case, lit):
    """Passed, failed and skipped tests of one of ctest's tests."""
    state = state_of(case)
    found = COUNTS.findall(case.findtext("system-out") or "")
    if case.get("name") == "lit" and os.path.exists(lit):
        result = [0, 0, 0]
        for test in ElementTree.parse(lit).iter("testcase"):
            result[state_of(test)] += 1
    elif found and state != 2:
        result = [int(number or 0) for number in found[-1]]
    else:
        result = [0, 0, 0]
        result[state] = 1
    if state == 1 and result[1] == 0:
        result[1] = 1
    return result


def main():
    lit = sys.argv[2] if len(sys.argv) > 2 else ""
    total = [0, 0, 0]
    for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
        result = count(case, lit)
        if result[2]:
            text = case.findtext("system-out") or ""
            reason = next((line for line in text.splitlines() if line.startswith("SKIPPED")), "")
            print(f"skipped in {case.get('name')}: {result[2]} {reason}".rstrip())
        total = [sum(pair) for pair in zip(total, result)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
