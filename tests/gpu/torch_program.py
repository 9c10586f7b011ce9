# SPDX-License-Identifier: MIT
"""What torch_test.py records: work of one kind in each NVTX range. Prints the ranges whose work it could do, and what
torch.profiler saw while another profiler held CUPTI. Exits with 77 where there is no CUDA device."""
import json
import os
import sys
import tempfile

try:
    import torch
    from torch.cuda import nvtx
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

done = {}


def work(name, prepare, times=5):
    """`prepare` answers what is done in the range, so that what it needs is made outside; None: it cannot be done."""
    step = prepare()
    if step is None:
        return
    step()  # what a first call makes and compiles
    torch.cuda.synchronize()
    for _ in range(times):
        nvtx.range_push(name)
        step()
        nvtx.range_pop()
    torch.cuda.synchronize()
    done[name] = times


x = torch.randn(512, 512, device="cuda")


def eager():
    return lambda: x.mul_(1.0)


def cublaslt():
    layer = torch.nn.Linear(512, 512, device="cuda", dtype=torch.bfloat16)
    inputs = x.to(torch.bfloat16)

    def step():
        with torch.no_grad():
            layer(inputs)
    return step


def triton():
    try:
        from torch.utils._triton import has_triton
        if not has_triton():
            return None
        compiled = torch.compile(lambda t: torch.sin(t) * torch.cos(t) + 1)
        compiled(x)
    except Exception as error:  # no compiler for what Triton needs of the host
        print(f"triton: {error}", file=sys.stderr)
        return None
    return lambda: compiled(x)


def nccl():
    import torch.distributed as dist
    if not dist.is_nccl_available():
        return None
    file = os.path.join(tempfile.mkdtemp(), "store")
    dist.init_process_group("nccl", init_method=f"file://{file}", rank=0, world_size=1)
    out = torch.empty_like(x)
    return lambda: dist.all_gather_into_tensor(out, x)  # of one rank: a copy, by NCCL


def graph():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x.add_(0.0)  # loaded before it is captured
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, stream=stream):
        for layer in ("layer.0", "layer.1"):
            nvtx.range_push(layer)
            x.add_(0.0)
            nvtx.range_pop()
    return captured.replay


for name, prepare in (("eager", eager), ("cublaslt", cublaslt), ("triton", triton), ("nccl", nccl), ("graph", graph)):
    work(name, prepare)

kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=kinds) as profiler:
    work("under torch.profiler", eager)
seen = sum(1 for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA)
print(json.dumps({"done": done, "device_events_of_torch_profiler": seen}))
