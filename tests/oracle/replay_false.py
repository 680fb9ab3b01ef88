# SPDX-License-Identifier: MIT
"""Replays what torch itself computed, and counts results that are called wrong:
each of them is a false alarm.

    python3 tests/oracle/replay_false.py TPROF FOLDER [SHARE [FAMILY...]]

Every call of tests/op_vectors_*.py, so all operators that have a row, in
float32, bfloat16 and float16, with each distribution of the operands below,
forward and backward. Of all of these one in SHARE (7, which is no divisor of
the lists' lengths) is made, dumped as msprobe does below FOLDER, a folder for
a family, and replayed by TPROF. Operators of NPU are compositions of torch,
whose steps are not those of the fused operator: left out. Prints each false
alarm, and counts; fails if there is any.
"""
import glob
import importlib
import json
import os
import subprocess
import sys
import warnings
import zlib

import h5py
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import op_vectors  # noqa: E402

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def mixed(x):
    return x * torch.pow(10.0, torch.randint(-6, 5, x.shape))


def zeros(x):
    return torch.where(torch.rand(x.shape) < 0.5, torch.zeros(()), x)


DISTRIBUTIONS = {
    "plain": lambda x: x,
    "normal": lambda x: torch.randn(x.shape).abs() * torch.sign(x),
    "large": lambda x: x * 3000,
    "tiny": lambda x: x * 3e-6,
    "mixed": mixed,
    "zeros": zeros,
}


class Dump(op_vectors.Vectors):
    """Takes the place of the writer of vectors: a step of a dump for each dtype
    and distribution."""

    def __init__(self, folder, name, share):
        super().__init__(os.devnull, name)
        self.folder, self.share, self.seen = folder, share, 0
        self.steps = {}
        self.numbers = {}

    # --- one step -----------------------------------------------------------

    def entry(self, data, place, value):
        if isinstance(value, torch.Tensor):
            if value._is_zerotensor():
                value = torch.zeros(value.shape, dtype=value.dtype)
            name = f"{place}.pt"
            torch.save(value.detach().clone().contiguous(),
                       os.path.join(data, name))
            return {"type": "torch.Tensor", "dtype": str(value.dtype),
                    "shape": list(value.shape), "Max": None, "Min": None,
                    "Mean": None, "Norm": None, "requires_grad": False,
                    "data_name": name}
        if isinstance(value, torch.Size):
            return {"type": "torch.Size", "value": list(value)}
        if isinstance(value, (list, tuple)):
            return [self.entry(data, f"{place}.{i}", v)
                    for i, v in enumerate(value)]
        if isinstance(value, torch.dtype):
            return {"type": "torch.dtype", "value": str(value)}
        if isinstance(value, slice):
            return {"type": "slice",
                    "value": [value.start, value.stop, value.step]}
        if value is None or isinstance(value, torch.device):
            return {}
        return {"type": type(value).__name__, "value": value}

    def changed(self, value, dtype, change):
        """The operand in another dtype and of another distribution."""
        if isinstance(value, (list, tuple)) and not isinstance(
                value, torch.Size):
            return type(value)(self.changed(v, dtype, change) for v in value)
        if value is torch.float64:
            return dtype
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float64:
            return value.clone() if isinstance(value, torch.Tensor) else value
        return change(value.detach()).to(dtype).requires_grad_(
            value.requires_grad)

    def record(self, data, api, args, kwargs):
        """The entries of a call; None: torch cannot."""
        function = op_vectors.resolve(api)
        name = api.split(".", 1)[1]
        in_place = (name.endswith("_") and not name.endswith("__")) or (
            name.startswith("__i") and name != "__invert__") or (
                kwargs.get("inplace") is True)
        number = self.numbers.get(api, 0)
        key = f"{api}.{number}"
        forward = {
            "input_args": [self.entry(data, f"{key}.forward.input.{i}", v)
                           for i, v in enumerate(args)],
            "input_kwargs": {k: self.entry(data, f"{key}.forward.input.{k}", v)
                             for k, v in kwargs.items()}}
        used = list(args)
        if in_place and used[0].requires_grad:
            used[0] = used[0].clone()
        result = function(*used, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [
            result]
        forward["output"] = [self.entry(data, f"{key}.forward.output.{i}", v)
                             for i, v in enumerate(outputs)]
        self.numbers[api] = number + 1
        entries = {f"{key}.forward": forward}
        back = self.backward(outputs)
        if back:
            entries[f"{key}.backward"] = {
                place: [self.entry(data, f"{key}.backward.{place}.{i}", v)
                        for i, v in enumerate(values)]
                for place, values in (("input", back[0]), ("output", back[1]))}
        return entries

    @staticmethod
    def backward(outputs):
        wanted = [o for o in outputs
                  if isinstance(o, torch.Tensor) and o.grad_fn is not None]
        if not wanted:
            return None
        seen = {}
        wanted[0].grad_fn.register_hook(
            lambda into, came: seen.update(i=into, g=came))
        came = [torch.randn(o.shape).to(o.dtype) for o in wanted]
        try:
            torch.autograd.backward(wanted, came)
        except (NotImplementedError, RuntimeError):
            return None
        return (seen["g"], seen["i"]) if seen else None

    def call(self, api, *args, backward=True, **kwargs):
        if api.startswith("NPU."):
            return
        for dtype in DTYPES:
            for name, change in DISTRIBUTIONS.items():
                self.seen += 1
                if self.seen % self.share:
                    continue
                step = f"{str(dtype)[6:]}_{name}"
                number = self.steps.setdefault(step, (len(self.steps), {}))[0]
                data = os.path.join(self.folder, f"step{number}", "proc1",
                                    "dump_tensor_data")
                os.makedirs(data, exist_ok=True)
                torch.manual_seed(zlib.crc32(f"{api}{self.seen}".encode()))
                try:
                    with torch.set_grad_enabled(backward):
                        entries = self.record(
                            data, api, self.changed(args, dtype, change),
                            self.changed(kwargs, dtype, change)
                            if not isinstance(kwargs, dict) else
                            {k: self.changed(v, dtype, change)
                             for k, v in kwargs.items()})
                except (RuntimeError, IndexError, ValueError, TypeError):
                    continue
                self.steps[step][1].update(entries)

    def close(self):
        super().close()
        for number, entries in self.steps.values():
            path = os.path.join(self.folder, f"step{number}", "proc1")
            with open(os.path.join(path, "dump.json"), "w") as file:
                json.dump({"task": "tensor", "level": "L1",
                           "framework": "pytorch",
                           "dump_data_dir": os.path.join(
                               path, "dump_tensor_data"),
                           "data": entries}, file)


def judge(tprof, folder, steps):
    """Wrong results as the table has them: step, call, cause."""
    out = os.path.join(folder, "out")
    subprocess.run([tprof, "replay", folder, "--output_dir", out, "--no_plots"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = {number: step for step, (number, _) in steps.items()}
    counts = {"replayed": 0, "wrong": 0, "narrow": 0}
    with h5py.File(os.path.join(out, "replay.h5")) as file:
        for row in file["replay"][:]:
            text = {key: row[key].decode() for key in
                    ("status", "judgement", "api_name", "cause")}
            counts["replayed"] += text["status"] == "replayed"
            if text["judgement"] not in ("wrong", "narrow"):
                continue
            counts[text["judgement"]] += 1
            print(text["judgement"], names[int(row["step"])],
                  text["api_name"], "%.3g" % row["excess"], text["cause"])
    return counts


def main():
    tprof, folder = sys.argv[1], sys.argv[2]
    share = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    known = sorted(os.path.basename(path)[len("op_vectors_"):-len(".py")]
                   for path in glob.glob(f"{HERE}/../op_vectors_*.py"))
    warnings.filterwarnings("ignore")
    total = {}
    for family in sys.argv[4:] or known:
        if family == "npu":
            continue
        dump = Dump(os.path.join(folder, family), family, share)
        importlib.import_module(f"op_vectors_{family}").make(dump)
        dump.close()
        counts = judge(tprof, dump.folder, dump.steps)
        print(family, counts, flush=True)
        for key, count in counts.items():
            total[key] = total.get(key, 0) + count
    print("all", total)
    return total.get("wrong", 0) > 0


if __name__ == "__main__":
    sys.exit(main())
