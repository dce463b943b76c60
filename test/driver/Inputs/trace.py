"""Prints what each rank did in the first noted step of a trace, in order of time, and the steps; checks what Perfetto needs."""
import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
work = [e for e in events if e["ph"] == "X"]
names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in work)
steps = sorted({e["args"]["step"] for e in work})
for tid, name in sorted(names.items()):
    mine = [e for e in work if e["tid"] == tid]
    assert all(a["ts"] + a["dur"] <= b["ts"] + 0.01 for a, b in zip(mine, mine[1:])), "two at a time"
    assert all(e["name"] == f'{e["args"]["stage"]}{e["cat"]}{e["args"]["microbatch"]}' for e in mine if "stage" in e["args"])
    print(f"{name}: " + " ".join(e["name"] for e in mine if "stage" in e["args"] and e["args"]["step"] == steps[0]))
print("steps", *steps)
