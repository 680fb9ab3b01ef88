#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the traces of testdata/traces/own: what torch.profiler would write of
small training runs on GPUs, simulated.

    python3 tests/make_gpu_traces.py OUT

A host thread runs operators that take a while and launch work; a stream does
one thing after the other; a synchronisation waits for a stream; a collective
ends for all ranks when the last has come. Times are whole microseconds unless
said, since peers round fractions. No numbers but these rules go in: what
tests expect of the traces is computed by others, see tests/oracle/peers.py.
"""
import argparse
import contextlib
import gzip
import json
import pathlib

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
NCCL = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
KERNEL_ARGS = {"device": 0, "context": 1, "blocks per SM": 1.25,
               "warps per SM": 10, "est. achieved occupancy %": 31,
               "grid": [100, 1, 1], "block": [256, 1, 1]}


class Recorder:
    """One rank: the host's clock and what its streams have to do."""

    def __init__(self, seed, grid=1, start=1000, latency=6):
        self.seed, self.grid, self.latency = seed, grid, latency
        self.now, self.tid = start, 1
        self.free = {}
        self.events, self.correlation = [], 100
        self.allocated, self.ranges = 0, []

    def random(self, low, high):
        """Equally likely times on the grid."""
        self.seed = (self.seed * 6364136223846793005 + 1442695040888963407) \
            % 2**64
        steps = round((high - low) / self.grid)
        return low + (self.seed >> 33) % (steps + 1) * self.grid

    def emit(self, cat, name, pid, tid, start, dur, **args):
        self.events.append({
            "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
            "ts": start, "dur": dur, "args": args})

    @contextlib.contextmanager
    def op(self, name, cat="cpu_op"):
        start, tid = self.now, self.tid
        index = len(self.events)
        self.events.append(None)
        self.now += self.random(2, 6)
        self.ranges.append((name, cat, []))
        yield
        self.now += self.random(1, 3)
        _, _, work = self.ranges.pop()
        event = {"ph": "X", "cat": cat, "name": name, "pid": 10, "tid": tid,
                 "ts": start, "dur": self.now - start, "args": {}}
        if cat == "cpu_op":
            event["args"] = {"External id": index + 1}
        self.events[index] = event
        self.now += self.grid  # what follows does not touch it
        if cat == "user_annotation" and work and not name.startswith("Pro"):
            for stream in sorted({s for s, _, _ in work}):
                mine = [(a, b) for s, a, b in work if s == stream]
                first = min(a for a, _ in mine)
                self.emit("gpu_user_annotation", name, 0, stream, first,
                          max(b for _, b in mine) - first)

    def annotation(self, name):
        return self.op(name, "user_annotation")

    def launch(self, name, dur, cat="kernel", call="cudaLaunchKernel",
               stream=7, until=None, host="cuda_runtime", **args):
        """A call and the work it starts; `until` ends a collective."""
        self.correlation += 1
        took = self.random(4, 9)
        self.emit(host, call, 10, self.tid, self.now, took,
                  correlation=self.correlation)
        ready = max(self.now + self.latency, self.free.get(stream, 0))
        end = until(ready) if until else ready + dur
        more = dict(KERNEL_ARGS) if cat == "kernel" else {"device": 0}
        more.update(args, stream=stream, correlation=self.correlation)
        self.emit(cat, name, 0, stream, ready, end - ready, **more)
        for _, _, work in self.ranges:
            work.append((stream, ready, end))
        self.free[stream] = end + self.random(1, 2)
        self.now += took
        return end

    def copy(self, way, bytes_, dur, call="cudaMemcpyAsync", stream=7):
        self.launch(f"Memcpy {way}", dur, "gpu_memcpy", call, stream,
                    bytes=bytes_)

    def sync(self, call="cudaStreamSynchronize", streams=(7,)):
        self.correlation += 1
        done = max(self.free.get(s, 0) for s in streams)
        end = max(self.now + 2, done + 2)
        self.emit("cuda_runtime", call, 10, self.tid, self.now,
                  end - self.now, correlation=self.correlation)
        self.now = end

    def memory(self, bytes_, kind=1):
        self.now += self.grid
        self.allocated += bytes_ if kind else 0
        args = {"Bytes": bytes_, "Addr": 4096 + len(self.events),
                "Device Type": kind, "Device Id": 0 if kind else -1,
                "Total Allocated": self.allocated if kind else 0,
                "Total Reserved": 1 << 24 if kind else 0}
        self.events.append({
            "ph": "i", "s": "t", "name": "[memory]", "cat":
            "cpu_instant_event", "pid": 10, "tid": self.tid, "ts": self.now,
            "args": args})

    def write(self, path, rank=None, world=1, **top):
        """Whole numbers without a point, others with three decimals."""
        out = {"schemaVersion": 1, "deviceProperties": [{
            "id": 0, "name": "Made-up GPU", "numSms": 80,
            "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiprocessor": 2048}]}
        if rank is not None:
            out["distributedInfo"] = {"backend": "nccl", "rank": rank,
                                      "world_size": world}
        out.update(record_shapes=1, profile_memory=1, **top)
        for event in self.events:
            for key in ("ts", "dur"):
                if key in event and self.grid != 1:
                    event[key] = round(event[key], 3)
        names = [(0, "python", "GPU 0"), (10, "python", "CPU")]
        meta = [{"ph": "M", "name": key, "pid": pid, "tid": 0, "ts": 0,
                 "args": {value: text}}
                for pid, name, label in names
                for key, value, text in (("process_name", "name", name),
                                         ("process_labels", "labels", label))]
        lanes = {(e["pid"], e["tid"]) for e in self.events}
        meta += [{"ph": "M", "name": "thread_name", "pid": pid, "tid": tid,
                  "ts": 0, "args": {"name": f"stream {tid} " if pid == 0
                                    else f"thread {tid} (python)"}}
                 for pid, tid in sorted(lanes)]
        lines = ",\n".join(json.dumps(e) for e in meta + self.events)
        text = json.dumps(out)[:-1] + ', "traceEvents": [\n' + lines
        text += '\n],\n  "traceName": "made"}\n'
        with open(path, "wb") as raw, \
                gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
            packed.write(text.encode())


def layer(run, i, name="conv", slow=1):
    with run.op(f"aten::{name}2d"), run.op(f"aten::{name}olution"):
        run.memory(1 << (16 + i % 3))
        with run.op("aten::cudnn_convolution"):
            run.launch(f"void implicit_{name}_kernel<{i % 2}>(float*)",
                       run.random(20, 90) * slow)
    with run.op("aten::relu"):
        run.launch("void vectorized_elementwise_kernel<4, relu>(int)",
                   run.random(3, 8) * slow)


def backward(run, layers, slow=1):
    """On a thread of its own, as autograd does it."""
    run.tid = 2
    for i in reversed(range(layers)):
        with run.op("autograd::engine::evaluate_function: ConvBackward0"), \
                run.op("aten::convolution_backward"):
            run.launch(f"void wgrad_kernel<{i % 2}>(float*)",
                       run.random(30, 120) * slow)
            run.launch("Memset (Device)", run.random(1, 2), "gpu_memset",
                       "cudaMemsetAsync", bytes=1024)
            run.memory(-(1 << (16 + i % 3)))
    run.tid = 1


def step(run, number, loader=100, layers=4, slow=1, reduce=None, read=True):
    with run.annotation(f"ProfilerStep#{number}"):
        with run.annotation(LOADER):
            run.now += run.random(loader, 2 * loader)
            run.memory(4096, 0)
        with run.op("aten::to"), run.op("aten::copy_"):
            run.copy("HtoD (Pageable -> Device)", 1 << 20, 90)
            run.sync()
        with run.op("aten::to"), run.op("aten::copy_"):
            run.copy("HtoD (Pinned -> Device)", 1 << 21, 100, stream=20)
        with run.annotation("## forward ##"):
            for i in range(layers):
                layer(run, i, slow=slow)
            with run.op("aten::clone"), run.op("aten::copy_"):
                run.copy("DtoD (Device -> Device)", 1 << 22, 12)
        backward(run, layers, slow)
        if reduce:
            yield from reduce(run)
        with run.annotation("Optimizer.step#SGD.step"):
            with run.op("aten::_foreach_add_"):
                run.launch("void multi_tensor_apply_kernel<add>(int)",
                           run.random(10, 30) * slow)
        with run.annotation("Optimizer.zero_grad#SGD.zero_grad"):
            run.now += 5
        if read:
            with run.op("aten::item"), run.op("aten::_local_scalar_dense"):
                run.copy("DtoH (Device -> Pageable)", 4, 2)
                run.sync()
        run.memory(-4096, 0)
    run.now += 3


def train(out, name, seed, steps, grid=1, rank=None, **how):
    run = Recorder(seed, grid, **how.pop("clock", {}))
    for number in range(5, 5 + steps):
        for _ in step(run, number, **how):
            pass
    run.sync("cudaDeviceSynchronize", (7, 20))
    top = {"baseTimeNanoseconds": 1700000000000000000} if grid != 1 else {}
    run.write(out / f"{name}.json.gz", rank, 1, **top)


def reduction(run):
    """Yields when this rank is ready; is sent when all are done."""
    for elements in (100000, 2000, 2049000):
        with run.op("c10d::allreduce_"), run.op("nccl:all_reduce",
                                                "user_annotation"):
            ready = max(run.now + run.latency, run.free.get(22, 0))
            end = yield ready, 10 + elements / 10000 // 1
            run.launch(NCCL, 0, call="cudaLaunchKernelExC", stream=22,
                       until=lambda _, end=end: end,
                       **{"Collective name": "allreduce", "dtype": "Float",
                          "In msg nelems": elements,
                          "Out msg nelems": elements, "Group size": 4,
                          "Process Group Name": "0",
                          "Process Group Ranks": "[0, 1, 2, 3]"})
    with run.op("cudaStreamWaitEvent"):
        run.free[7] = max(run.free[7], run.free[22])


def ranks(out, late=2):
    """Four ranks, one step; one of them loads for longer."""
    runs = [Recorder(40 + r, start=10**15) for r in range(4)]
    todo = [step(run, 10, loader=400 if r == late else 80, layers=3,
                 reduce=reduction, read=r != 3)
            for r, run in enumerate(runs)]
    wanted = [next(t) for t in todo]
    while wanted:
        end = max(ready for ready, _ in wanted) + int(wanted[0][1])
        wanted = []
        for t in todo:
            with contextlib.suppress(StopIteration):
                wanted.append(t.send(end))
    folder = out / "ranks"
    folder.mkdir(exist_ok=True)
    for rank, run in enumerate(runs):
        run.sync("cudaDeviceSynchronize", (7, 20, 22))
        run.write(folder / f"rank{rank}.json.gz", rank, 4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    train(out, "train", 1, 5, rank=0)
    train(out, "loader", 2, 4, loader=4000, layers=3)
    train(out, "busy", 3, 3, slow=40, layers=3, read=False)
    train(out, "one_step", 4, 1, layers=6)
    train(out, "fractions", 5, 4, grid=0.001, layers=5, rank=0)
    train(out, "long", 6, 24, rank=0)
    ranks(out)


if __name__ == "__main__":
    main()
