"""A long run says how far it is on a terminal, and nothing of the kind elsewhere.

    check_progress.py COMMAND...
"""

import os
import pty
import re
import subprocess
import sys


def run_on_terminal(command):
    """What the command writes to a terminal that is its standard error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the other end is closed
            pass
        assert process.wait() == 0
    os.close(ours)
    return text.decode()


def main():
    shown = re.findall(r"(\d+) of (\d+) CTAs", run_on_terminal(sys.argv[1:]))
    assert shown and all(int(done) <= int(total) for done, total in shown), shown
    quiet = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True)
    assert quiet.stderr == "", quiet.stderr
    print("shown on a terminal only")


if __name__ == "__main__":
    main()
