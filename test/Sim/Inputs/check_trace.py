"""A timeline is what Perfetto reads: JSON with events of which each has its thread, in
order, every thread with a name, every begin with an end.

    check_trace.py FILE THREAD...    the names that threads have to have
"""

import collections
import json
import sys


def check_event(event):
    for key in ("name", "ph", "ts", "pid", "tid"):
        assert key in event, event
    assert event["ph"] in ("B", "E", "X", "i", "M"), event
    assert event["ts"] >= 0 and event.get("dur", 0) >= 0, event
    assert event["ph"] != "X" or "dur" in event, event
    assert event["ph"] != "i" or event["s"] == "t", event


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names, open_spans, last = {}, collections.Counter(), {}
    for event in events:
        check_event(event)
        thread = event["pid"], event["tid"]
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                names[thread] = event["args"]["name"]
            continue
        assert thread in names, event
        open_spans[thread] += {"B": 1, "E": -1}.get(event["ph"], 0)
        assert open_spans[thread] >= 0, event
        if event["ph"] != "X":
            assert event["ts"] >= last.get(thread, 0), event
            last[thread] = event["ts"]
    assert not any(open_spans.values()), open_spans
    for name in sys.argv[2:]:
        assert name in names.values(), (name, sorted(names.values()))
    print(f"{len(events)} events of {len(names)} threads")


if __name__ == "__main__":
    main()
