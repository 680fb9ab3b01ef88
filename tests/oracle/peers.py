#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What others print for the traces of testdata/traces/own, for the tests.

    python3 tests/oracle/peers.py hta TRACES > hta.txt
    python3 tests/oracle/peers.py plugin TRACES > tb_plugin.txt
    python3 tests/oracle/peers.py torch TRACES OUT

hta: Holistic Trace Analysis (HolisticTraceAnalysis 0.5.0 with pandas 1.5.3);
plugin: PyTorch's tensorboard plugin (torch-tb-profiler 0.4.3); torch: the
key_averages() of torch.autograd's EventList, fed from the JSON. None of it is
our code: only names of sections are, and the order of columns.
"""
import csv
import gzip
import json
import os
import pathlib
import sys
import tempfile


def files(root):
    return sorted(root.glob("*.json.gz"))


def ranks(root):
    return sorted((root / "ranks").glob("*.json.gz"))


# --- Holistic Trace Analysis -------------------------------------------------

def hta_tables(traces, include_last):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "0"
    from hta.trace_analysis import TraceAnalysis
    with tempfile.TemporaryDirectory() as folder:
        here = {}
        for rank, path in traces.items():
            here[rank] = f"{folder}/{path.name}"
            pathlib.Path(here[rank]).write_bytes(path.read_bytes())
        analysis = TraceAnalysis(
            trace_files=here, trace_dir=folder,
            include_last_profiler_step=include_last)
        all_ranks = sorted(traces)
        print("-- temporal")
        print(analysis.get_temporal_breakdown(visualize=False).to_string())
        print("-- kernel_type(no mem)")
        kinds, _ = analysis.get_gpu_kernel_breakdown(visualize=False)
        print(kinds.to_string())
        print("-- comm_comp")
        print(analysis.get_comm_comp_overlap(visualize=False).to_string())
        print("-- idle")
        idle = analysis.get_idle_time_breakdown(ranks=all_ranks,
                                                visualize=False)[0]
        print(idle.to_string())
        print("-- launch")
        for rank, stats in analysis.get_cuda_kernel_launch_stats(
                ranks=all_ranks, visualize=False).items():
            if len(traces) > 1:
                break
            short = ((stats.cpu_duration <= 50) &
                     (stats.gpu_duration < stats.cpu_duration)).sum()
            print(f"rows {len(stats)} short(cpu<=50 & gpu<cpu) {short}")
            print(stats.describe().to_string())
        print("-- queue")
        print(analysis.get_queue_length_summary(ranks=all_ranks).to_string())
        if len(traces) > 1:
            print("-- stragglers")
            print(analysis.get_potential_stragglers(num_candidates=1))


def hta(root):
    import logging
    logging.disable(logging.CRITICAL)
    for path in files(root):
        for include_last in (False, True):
            print(f"===== own/{path.name} include_last= {include_last}")
            hta_tables({0: path}, include_last)
    for include_last in (False, True):
        print(f"===== own/ranks include_last= {include_last}")
        hta_tables(dict(enumerate(ranks(root))), include_last)


# --- the tensorboard plugin --------------------------------------------------

# This release knows some categories by the names they had before.
OLDER = {"cuda_runtime": "Runtime", "user_annotation": "Operator"}


def plugin(root):
    from torch_tb_profiler.profiler.data import RunProfileData
    for path in files(root) + ranks(root):
        with gzip.open(path, "rt") as file:
            trace = json.load(file)
        trace["traceEvents"] = [
            dict(e, cat=OLDER.get(e.get("cat"), e.get("cat", "")))
            for e in trace["traceEvents"]
            if e.get("cat") != "gpu_user_annotation"]
        data = RunProfileData.from_json("worker", None, trace)
        print(f"===== own/{path.relative_to(root)}")
        for name, costs in zip(data.steps_names, data.steps_costs):
            print(f"  step {name} {[round(c, 3) for c in costs.costs]}")
        print("kernels top")
        for name, row in (data.kernel_stat.iterrows()
                          if data.kernel_stat is not None else ()):
            print(f"    {name[:80]} cnt {row['count']} "
                  f"sum {round(row['sum'], 3)} mean {round(row['mean'], 2)} "
                  f"max {round(row['max'], 3)} min {round(row['min'], 3)} "
                  f"bpsm {round(row['blocks_per_sm'], 2)} "
                  f"occ {round(row['occupancy'], 2)}")


# --- torch's key_averages ----------------------------------------------------

COLUMNS = ["name", "device_type", "count", "cpu_time_total_us",
           "self_cpu_time_total_us", "cuda_time_total_us",
           "self_cuda_time_total_us", "cpu_mem_b", "self_cpu_mem_b",
           "cuda_mem_b", "self_cuda_mem_b"]
HOST = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def torch_events(path):
    """The EventList torch would have made: ns, nested, kernels attached."""
    from torch.autograd import DeviceType
    from torch.autograd.profiler_util import EventList, FunctionEvent
    from torch.autograd.profiler_util import _rewrite_name
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    functions, by_correlation = [], {}
    for i, event in enumerate(events):
        if event.get("cat") not in HOST + DEVICE:
            continue
        start = event["ts"]
        function = FunctionEvent(
            id=i, thread=event["tid"],
            name=_rewrite_name(event["name"], with_wildcard=True),
            start_us=start, end_us=start + event["dur"],
            device_type=DeviceType.CPU if event["cat"] in HOST
            else DeviceType.CUDA, is_async=False, stack=[],
            use_device="cuda")
        functions.append(function)
        if event["cat"].startswith("cuda_"):
            by_correlation[event["args"]["correlation"]] = function
    listed = EventList(functions, use_device="cuda", profile_memory=True)
    listed._build_tree()
    for i, event in enumerate(events):
        if event.get("cat") in DEVICE:
            call = by_correlation.get(event["args"]["correlation"])
            owner = call and call.cpu_parent
            while owner and events[owner.id]["cat"] != "cpu_op":
                owner = owner.cpu_parent
            if owner:
                owner.append_kernel(event["name"], 0, event["dur"])
    add_memory(functions, events)
    return listed


class Instant:
    """What torch calls a memory record."""

    def __init__(self, event):
        self.args, self.ts = event["args"], event["ts"]

    def start_ns(self):
        return round(self.ts * 1000)


def add_memory(functions, events):
    """To all that run on the host then, of any thread, as torch does it."""
    from torch.autograd.profiler_util import MemRecordsAcc
    records = MemRecordsAcc([(Instant(e), False) for e in events
                             if e.get("name") == "[memory]"])
    for function in functions:
        event = events[function.id]
        if event["cat"] not in HOST:
            continue
        start = round(event["ts"] * 1000)
        end = start + round(event["dur"] * 1000)
        for record, _ in records.in_interval(start, end):
            if record.args["Device Type"]:
                function.device_memory_usage += record.args["Bytes"]
            else:
                function.cpu_memory_usage += record.args["Bytes"]


def torch_tables(root, out):
    out.mkdir(parents=True, exist_ok=True)
    for path in files(root):
        listed = torch_events(path)
        with open(out / (path.name.split(".")[0] + ".csv"), "w",
                  newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for row in listed.key_averages():
                cuda = row.device_type.name == "CUDA"
                writer.writerow([
                    row.key, row.device_type.name, row.count,
                    f"{0 if cuda else row.cpu_time_total:.3f}",
                    f"{0 if cuda else row.self_cpu_time_total:.3f}",
                    f"{row.device_time_total:.3f}",
                    f"{row.self_device_time_total:.3f}",
                    row.cpu_memory_usage, row.self_cpu_memory_usage,
                    row.device_memory_usage, row.self_device_memory_usage])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "hta":
        hta(root)
    elif sys.argv[1] == "plugin":
        plugin(root)
    else:
        torch_tables(root, pathlib.Path(sys.argv[3]))


if __name__ == "__main__":
    main()
