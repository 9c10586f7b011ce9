# Makes the tables of tests/data/key_averages/: the figures that make.py noted, as torch.profiler itself prints them. Without
# the rows of annotations and of memory events, which count in the total all the same.
import csv, json, sys
from torch.autograd.profiler_util import EventList, FunctionEventAvg

out = sys.argv[1]
for name, order in (("key_averages", "self_cpu_time_total"), ("key_averages_by_shape", "flops")):
    events, others = [], []
    for row in csv.DictReader(open(f"{out}/{name}.csv")):
        e = FunctionEventAvg()
        e.key, e.count, e.flops, e.node_id, e.overload_name = row["name"], int(row["calls"]), int(row["flops"]), -1, ""
        e.cpu_time_total, e.self_cpu_time_total = int(row["cpu_total_ns"]) / 1000, int(row["cpu_self_ns"]) / 1000
        e.cpu_memory_usage, e.self_cpu_memory_usage = int(row["cpu_memory"]), int(row["cpu_self_memory"])
        e.input_shapes = json.loads(row["shapes"].replace("''", '""').replace("'", '"')) if row["shapes"] else ""
        events.append(e)
        if row["annotation"] == "1" or e.key == "[memory]":
            others.append(e.key)
    text = EventList(events, with_flops=True, profile_memory=True).table(sort_by=order, row_limit=1000)
    lines = [l for l in text.splitlines(True) if l.split("  ")[0].strip() not in others and not any(l.strip().startswith(o + " ") for o in others)]
    open(f"{out}/{name}.txt", "w").write("".join(lines))
