# Makes tests/data/key_averages/: a training step of a small network on the CPU, and torch.profiler's own key averages of it.
import csv, gzip, os, shutil, sys, threading
import torch
from torch.profiler import profile, ProfilerActivity, record_function

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 6 * 6, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

def step():
    x, y = torch.randn(4, 3, 8, 8), torch.randint(10, (4,))
    with record_function("forward"):
        loss = torch.nn.functional.cross_entropy(net(x), y)
    with record_function("backward"):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()

step()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_flops=True) as p:
    for _ in range(3):
        step()
        p.step()
    worker = threading.Thread(target=lambda: torch.mm(torch.ones(16, 8), torch.ones(8, 4)).sum())
    worker.start()
    worker.join()
p.export_chrome_trace(out + "/trace.json")
with open(out + "/trace.json", "rb") as f, gzip.GzipFile(out + "/trace.json.gz", "wb", mtime=0) as g:
    shutil.copyfileobj(f, g)
os.remove(out + "/trace.json")
for name, by_shape in (("key_averages", False), ("key_averages_by_shape", True)):
    with open(f"{out}/{name}.csv", "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["name", "annotation", "calls", "cpu_total_ns", "cpu_self_ns", "cpu_memory", "cpu_self_memory", "flops", "shapes"])
        for e in p.key_averages(group_by_input_shape=by_shape):
            w.writerow([e.key, int(bool(e.is_user_annotation)), e.count, round(e.cpu_time_total * 1000), round(e.self_cpu_time_total * 1000),
                        e.cpu_memory_usage, e.self_cpu_memory_usage, e.flops or 0, e.input_shapes if by_shape else ""])
print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=8))
