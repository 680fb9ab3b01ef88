#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/formats: small files of every kind that is not torch.save.

Needs torch 2.9 or later, numpy and ml_dtypes. The values in expected.json are
those that numpy and torch have of the arrays before they were written.
"""
import gzip
import io
import json
import os
import pickle
import struct
import sys
import types
import warnings
import zipfile

import ml_dtypes
import numpy as np
import torch

warnings.simplefilter("ignore")
OUT = sys.argv[1] if len(sys.argv) > 1 else "testdata/formats"
EXPECTED, README = {}, []


def describe(array):
    if isinstance(array, torch.Tensor):
        dtype = str(array.dtype)
        flat = array.detach().to(torch.float64).reshape(-1).tolist()
        shape = list(array.shape)
    else:
        dtype = array.dtype.name
        flat = array.astype(np.float64).reshape(-1).tolist()
        shape = list(array.shape)
    entry = {"dtype": dtype, "shape": shape, "numel": len(flat)}
    if not flat:
        return entry
    finite = [v for v in flat if abs(v) < float("inf")]
    entry.update(first=[repr(v) for v in flat[:4]],
                 nan=sum(v != v for v in flat),
                 inf=sum(abs(v) == float("inf") for v in flat),
                 zero=sum(v == 0 for v in flat),
                 min=min(finite), max=max(finite), sum=sum(finite),
                 l2=sum(v * v for v in finite) ** 0.5)
    return entry


def put(name, data, why, arrays=None, skips=None, error=None):
    """arrays: path -> array; skips: path -> part of the reason ("-" for the
    path ""); error: part of the message with which the whole file fails."""
    with open(os.path.join(OUT, name), "wb") as f:
        f.write(data)
    entry = {p: describe(a) for p, a in (arrays or {}).items()}
    entry.update({p: {"skip": r} for p, r in (skips or {}).items()})
    if error:
        entry["error"] = error
    EXPECTED[name] = entry
    README.append((name, why))


def npy(array, version=None, **how):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version, **how)
    return buffer.getvalue()


def archive(records, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, content in getattr(records, "items", lambda: records)():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            made.writestr(info, content)
    return buffer.getvalue()


def save(value, **how):
    buffer = io.BytesIO()
    torch.save(value, buffer, **how)
    return buffer.getvalue()


# ---- numpy ------------------------------------------------------------------

def head(text, major=1):
    text = text.encode()
    size = struct.pack("<H" if major == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([major, 0]) + size + text


def numpy_files():
    a = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    put("good-v1.npy", npy(a, (1, 0)), "version 1.0", {"": a})
    put("good-v3.npy", npy(a, (3, 0)), "version 3.0", {"": a})
    put("good-fortran.npy", npy(np.asfortranarray(a)), "order of columns",
        {"": a})
    put("good-big.npy", npy(a.astype(">f4")), "big-endian", {"": a})
    put("good-scalar.npy", npy(np.array(2.5)), "no dimension",
        {"": np.array(2.5)})
    put("good-empty.npy", npy(np.zeros((0, 2), np.int16)), "no element",
        {"": np.zeros((0, 2), np.int16)})
    b = np.arange(5).astype(ml_dtypes.bfloat16)
    put("good-bf16.npy", npy(b), "two bytes without a name", {"": b})
    put("good-old_long.npy", head("{'descr': '<f8', 'fortran_order': False, "
                                  "'shape': (2L,), }\n") +
        struct.pack("<2d", 1, 2), "a long of Python 2",
        {"": np.array([1.0, 2.0])})
    two = npy(a) + npy(np.arange(3))
    put("good-two.npy", two, "two arrays, one behind the other",
        {"[0]": a, "[1]": np.arange(3)})
    put("bad-second.npy", two[:-1], "the second of two arrays is cut off",
        {"": a})
    put("bad-tail.npy", npy(a) + b"tail", "something behind the array",
        {"": a})
    EXPECTED["bad-second.npy"]["-"] = {"skip": "of which 23 are there"}
    EXPECTED["bad-tail.npy"]["-"] = {"skip": "4 bytes follow"}
    for name, text, reason in [
            ("call", "{'descr': print('x'), 'fortran_order': False, "
             "'shape': (1,)}", "no quoted word"),
            ("key", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), "
             "'more': 1}", "unknown"),
            ("twice", "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
             "twice"),
            ("negative", "{'descr': '<f4', 'fortran_order': False, "
             "'shape': (-1,)}", "negative"),
            ("huge", "{'descr': '<f4', 'fortran_order': False, 'shape': "
             "(4611686018427387904, 4611686018427387904)}", "2^63"),
            ("long", "{'descr': '<f4', 'fortran_order': False, 'shape': "
             "(99999999999999999999,)}", "2^63"),
            ("dims", "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
             "1," * 65 + ")}", "dimensions"),
            ("float", "{'descr': '<f4', 'fortran_order': False, "
             "'shape': (1.0,)}", "whole numbers"),
            ("open", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
             "whole numbers"),
            ("descr", "{'descr': '<z9', 'fortran_order': False, "
             "'shape': (1,)}", "no type")]:
        put("bad-%s.npy" % name, head(text) + bytes(4), "a head with " + name,
            error=reason)
    for name, array, reason in [
            ("records", np.zeros(2, [("a", "f4")]), "several fields"),
            ("text", np.array(["ab"]), "strings"),
            ("longdouble", np.zeros(2, "f16"), "long double"),
            ("f8", np.zeros(2, ml_dtypes.float8_e4m3fn), "float8"),
            ("time", np.zeros(2, "M8[s]"), "points in time"),
            ("object", np.array([None]), "objects of Python")]:
        put("unsupported-%s.npy" % name, npy(array, allow_pickle=True),
            "elements that are " + name, error=reason)


def numpy_archives():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    parts = {"w.npy": npy(a), "deep/i.npy": npy(np.arange(300)),
             "notes.txt": b"text", "plain": npy(a)}
    arrays = {"w": a, "deep/i": np.arange(300), "plain": a}
    put("good-stored.npz", archive(parts), "stored members", arrays)
    put("good-deflated.npz", archive(parts, zipfile.ZIP_DEFLATED),
        "deflated members", arrays)
    twice = [("w.npy", npy(a)), ("v.npy", npy(a)), ("w.npy", npy(a + 1))]
    put("bad-name_twice.npz", archive(twice), "two members of one name",
        {"v": a, "w": a + 1})
    EXPECTED["bad-name_twice.npz"]["w.npy"] = {"skip": "later member"}
    parts["bad.npy"] = b"no array"
    put("bad-member.npz", archive(parts), "a member that is no array", arrays,
        {"bad": "no array"})
    put("bad-bomb.npz", archive({"w.npy": npy(np.zeros(9 << 20)),
                                 "v.npy": npy(a)}, zipfile.ZIP_DEFLATED),
        "72 MiB of zeros in 73 kB", {"v": a}, {"w": "more than 256 : 1"})
    data = archive({"w.npy": npy(a), "v.npy": npy(a)})
    torn = bytearray(data)
    torn[data.index(npy(a)) + len(npy(a)) - 2] ^= 1
    put("bad-crc.npz", bytes(torn), "one bit of w flipped", {"v": a})


# ---- torch.export, torch.package --------------------------------------------

def meta(dtype, sizes, strides, offset=0, **more):
    number = {"path_name": "weight_0", "is_param": True, "use_pickle": False}
    number.update(more)
    number["tensor_meta"] = {
        "dtype": dtype, "sizes": [{"as_int": n} for n in sizes],
        "strides": [{"as_int": n} for n in strides],
        "storage_offset": {"as_int": offset}, "layout": 7}
    return number


def export(config, payloads, more=None, top="m/"):
    records = {top + "data/weights/" + n: d for n, d in payloads.items()}
    records[top + "data/weights/model_weights_config.json"] = json.dumps(
        {"config": config}).encode()
    records[top + "byteorder"] = b"little"
    records[top + "archive_format"] = b"pt2"
    records.update(more or {})
    return archive(records)


def export_files():
    w = np.arange(6, dtype=np.float32)
    b = torch.arange(4, dtype=torch.bfloat16)
    inside = torch.arange(3.0)
    config = {
        "a": meta(7, [2, 3], [3, 1]), "tied": meta(7, [2, 3], [3, 1]),
        "view": meta(7, [2], [1], 4), "turned": meta(7, [3, 2], [1, 3]),
        "b": meta(13, [4], [1], path_name="weight_1"),
        "inside": meta(7, [3], [1], path_name="weight_2", use_pickle=True),
        "none": meta(7, [0, 2], [2, 1], path_name="weight_3")}
    payloads = {"weight_0": w.tobytes(),
                "weight_1": b.view(torch.uint8).numpy().tobytes(),
                "weight_2": save(inside), "weight_3": b""}
    found = {"weights/a": w.reshape(2, 3), "weights/tied": w.reshape(2, 3),
             "weights/view": w[4:], "weights/turned": w.reshape(2, 3).T,
             "weights/b": b, "weights/inside": inside,
             "weights/none": np.zeros((0, 2), np.float32)}
    put("good-export.pt2", export(config, payloads), "torch.export.save",
        found)
    put("good-two_programs.pt2", export(
        {"a": config["a"]}, payloads,
        {"m/data/weights/other_weights_config.json": json.dumps(
            {"config": {"b": config["b"]}}).encode()}),
        "two programs in one archive",
        {"model/weights/a": w.reshape(2, 3), "other/weights/b": b})
    put("good-old.pt2", archive({
        "serialized_exported_program.json": b"{}",
        "serialized_state_dict.pt": save({"w": inside}),
        "serialized_constants.pt": b""}), "torch before 2.9",
        {"weights.w": inside})
    put("good-samples.pt2", export(
        {"a": config["a"]}, payloads,
        {"m/data/sample_inputs/model.pt": save(inside)}),
        "with example inputs", {"weights/a": w.reshape(2, 3)},
        {"data/sample_inputs/model.pt": "example inputs"})
    bad = {"outside": meta(7, [2], [1], path_name="../x"),
           "slash": meta(7, [2], [1], path_name="a/b"),
           "absent": meta(7, [2], [1], path_name="weight_9"),
           "stride": meta(7, [2], [10**12]), "size": meta(7, [7], [1]),
           "negative": meta(7, [-1], [1]), "dtype": meta(99, [2], [1]),
           "dims": meta(7, [1] * 65, [1] * 65),
           "ranks": meta(7, [2, 3], [1]),
           "symbol": meta(7, [2], [1]), "layout": meta(7, [2], [1]),
           "object": meta(7, [2], [1]), "pickle": meta(
               7, [2], [1], use_pickle=True),
           "good": config["a"]}
    bad["symbol"]["tensor_meta"]["sizes"] = [{"as_expr": {"expr_str": "s0"}}]
    bad["layout"]["tensor_meta"]["layout"] = 1
    bad["object"]["tensor_meta"] = None
    reasons = {"outside": "no name of the folder",
               "slash": "no name of the folder", "absent": "no record",
               "stride": "leaves", "size": "leaves", "negative": "negative",
               "dtype": "number 99", "dims": "dimensions",
               "ranks": "strides", "symbol": "symbolic",
               "layout": "number 1", "object": "no tensor",
               "pickle": "no zip archive"}
    put("bad-weights.pt2", export(bad, payloads),
        "one good weight among thirteen impossible ones",
        {"weights/good": w.reshape(2, 3)},
        {"weights/" + n: r for n, r in reasons.items()})
    put("bad-config.pt2", export({}, payloads, {
        "m/data/constants/model_constants_config.json": b'{"config": {"a"'}),
        "a config that is cut off", None, {"": "ends too early"})


def package_file():
    class Exporter(pickle.Pickler):
        def __init__(self, file):
            super().__init__(file, 3)
            self.storages = []

        def persistent_id(self, value):
            if not isinstance(value, torch.storage.TypedStorage):
                return None
            self.storages.append(value)
            kind = value.pickle_storage_type()
            return ("storage", getattr(torch, kind), len(self.storages) - 1,
                    "cpu", value.size())
    text = io.BytesIO()
    exporter = Exporter(text)
    tensors = {"a": torch.arange(4.0), "b": torch.ones(2, 3).double()}
    exporter.dump(tensors)
    records = {"p/.data/%d.storage" % i:
               bytes(s._untyped_storage) for i, s in
               enumerate(exporter.storages)}
    records.update({"p/model/data.pkl": text.getvalue(),
                    "p/bad.pkl": b"\x80\x03}X\x05\x00",
                    "p/.data/extern_modules": b"", "p/byteorder": b"little"})
    put("bad-package.pt", archive(records),
        "torch.package with a whole pickle and one that is cut off",
        {"model/data.pkl:" + n: t for n, t in tensors.items()},
        {"bad.pkl": "ends"})


# ---- what torch.save holds beside tensors -----------------------------------

def stub(module, name, function):
    parts = module.split(".")
    for i in range(len(parts)):
        full = ".".join(parts[:i + 1])
        sys.modules.setdefault(full, types.ModuleType(full))
    function.__module__, function.__qualname__ = module, name
    function.__name__ = name
    setattr(sys.modules[module], name, function)
    return function


class Call:
    """An object that pickles as a call of `function`."""

    def __init__(self, function, *args):
        self.made = function, args

    def __reduce__(self):
        return self.made


def typed(t):
    return torch.storage.TypedStorage(wrap_storage=t.untyped_storage(),
                                      dtype=t.dtype, _internal=True)


def object_files():
    npu = stub("torch_npu.utils.storage", "_rebuild_npu_tensor",
               lambda *a: None)
    maker = stub("made.up", "maker", lambda *a: None)
    t = torch.arange(6.0).reshape(2, 3).t()
    value = {"npu": Call(npu, typed(t), 0, tuple(t.shape), t.stride(), False,
                         {}, 2), "t": torch.ones(2)}
    for name, data in [("npu.pt", save(value)), ("npu.legacy.pt", save(
            value, _use_new_zipfile_serialization=False))]:
        put("good-" + name, data, "a tensor of torch_npu",
            {"npu": t.contiguous(), "t": torch.ones(2)})
    arrays = {"f": np.arange(6, dtype=np.float32).reshape(2, 3),
              "F": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
              "big": np.arange(3, dtype=">i4"), "none": np.zeros((0, 3)),
              "b": np.arange(4).astype(ml_dtypes.bfloat16),
              "t": torch.ones(2)}
    for name, data in [
            ("arrays.pt", save(arrays)),
            ("arrays5.pt", save(arrays, pickle_protocol=5)),
            ("arrays.legacy.pt", save(arrays,
                                      _use_new_zipfile_serialization=False)),
            ("arrays0.pkl", pickle.dumps(arrays, 0)),
            ("arrays5.pkl", pickle.dumps(arrays, 5))]:
        put("good-" + name, data, "arrays of numpy beside a tensor", arrays)
    held = {"storage": torch.ones(4).untyped_storage(),
            "call": Call(maker, torch.ones(3).untyped_storage()),
            "array": Call(maker, np.ones(3)),
            "object": np.array([None]), "records": np.zeros(2, "i1,i1"),
            "t": torch.ones(2)}
    put("bad-held.pt", save(held), "storages and arrays that are no tensors",
        {"t": torch.ones(2)},
        {"storage": "belongs to no tensor", "call": "made.up.maker",
         "array": "made.up.maker", "object": "objects of Python",
         "records": "records"})
    for name, function in [("system", os.system), ("eval", eval)]:
        put("bad-%s.pt" % name,
            save({"t": torch.ones(2), "x": Call(function, "exit(1)")}),
            "a call that would run something", {"t": torch.ones(2)},
            {"-": name})
    q = torch.quantize_per_tensor(torch.arange(6.0), 0.5, 3, torch.qint8)
    w = torch.quantize_per_tensor(torch.arange(6.0), 0.5, 3, torch.qint32)
    put("good-beside_quantised.legacy.pt",
        save({"q": q, "a": torch.arange(5.0), "w": w, "z": torch.ones(2)},
             _use_new_zipfile_serialization=False),
        "quantised tensors before and between others",
        {"q": q.int_repr(), "q#value": q.dequantize(), "a": torch.arange(5.0),
         "w": w.int_repr(), "w#value": w.dequantize(), "z": torch.ones(2)})
    bytes_ = torch.arange(7, 31, dtype=torch.uint8).reshape(3, 8) * 11
    table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6])
    nibbles = torch.stack([bytes_ & 15, bytes_ >> 4], -1).flatten(-2).long()
    values = table[nibbles & 7] * (1 - 2 * (nibbles >> 3))
    f4 = bytes_.view(torch.float4_e2m1fn_x2)
    for name, how in [("", {}),
                      (".legacy", {"_use_new_zipfile_serialization": False})]:
        put("good-float4%s.pt" % name,
            save({"f": f4, "row": f4[1], "rows": f4[1:], "bytes": bytes_},
                 **how),
            "two elements a byte, views of them, and the bytes",
            {"f": values, "row": values[1], "rows": values[1:],
             "bytes": bytes_})
        for path in "f", "row", "rows":
            EXPECTED["good-float4%s.pt" % name][path]["dtype"] = str(f4.dtype)
    put("unsupported-float4.pt", save({"turned": f4.t(), "one": f4[0, 0],
                                       "t": torch.ones(2)}),
        "elements of one byte that do not follow each other",
        {"t": torch.ones(2)}, {"turned": "share a byte", "one": "share a byte"})
    meta_ = {"step": 7, "rank": 3, "dump_index": 12, "name": "grad__a=b",
             "layer_id": 5}
    put("good-sglang.pt", save({"value": torch.ones(2), "meta": meta_}),
        "SGLang's dumper", {"value": torch.ones(2)})


def other_files():
    """What trainers keep beside tensors, which is named and not read."""
    block = {"address": 1 << 40, "size": 512, "requested_size": 500,
             "state": "active_allocated", "frames": []}
    segment = {"device": 0, "address": 1 << 40, "total_size": 2 << 20,
               "stream": 0, "segment_type": "small", "blocks": [block]}
    whole = {"segments": [segment], "device_traces": [[]]}
    word = {"-": "a snapshot of an allocator's memory"}
    put("unsupported-snapshot.pickle", pickle.dumps(whole),
        "torch.cuda.memory._snapshot()", skips=word)
    put("unsupported-segments.pickle", pickle.dumps([segment]),
        "torch.cuda.memory.memory_snapshot()", skips=word)
    put("bad-snapshot.pickle", pickle.dumps(whole)[:-40],
        "a snapshot whose end is missing", error="FRAME")
    event = b"\x09" + struct.pack("<d", 1.5) + b"\x1a\x0dbrain.Event:2"
    put("bad-events.pt", struct.pack("<QI", len(event), 0) + event + bytes(4),
        "an event file of TensorBoard", error="an event file of TensorBoard")
    put("bad-statistics.pt", b"2026-11-03 08:15:00,123 - INFO - fc1_min "
        b"\t\t\t\t iteration=000000 \t\t\t\t value=0.5\n",
        "statistics of TransformerEngine", error="a log of Python's logging")


def gzip_files():
    t = {"t": torch.arange(8.0)}
    data = gzip.compress(save(t), mtime=0)
    put("good-packed.pt.gz", data, "a file of torch.save in gzip", t)
    a = npy(np.arange(4))
    put("good-members.npy.gz", gzip.compress(a[:50], mtime=0) +
        gzip.compress(a[50:], mtime=0) + bytes(16),
        "two streams of gzip that make one file, and zeros",
        {"": np.arange(4)})
    put("bad-cut.pt.gz", data[:-20], "the end is missing", error="end in the")
    put("bad-bit.pt.gz", data[:200] + bytes([data[200] ^ 1]) + data[201:],
        "one bit flipped", error="damaged")
    put("bad-tail.pt.gz", data + b"tail", "something behind",
        error="something else follows")
    put("bad-bomb.npy.gz", gzip.compress(npy(np.zeros(9 << 20)), mtime=0),
        "72 MiB of zeros in 73 kB", error="more than 256 : 1")
    put("bad-twice.pt.gz", gzip.compress(data, mtime=0), "packed twice",
        error="twice")
    put("bad-other.pt.gz", gzip.compress(b"no tensor", mtime=0),
        "no file of tensors inside", error="no file of tensors")


def main():
    os.makedirs(OUT, exist_ok=True)
    numpy_files()
    numpy_archives()
    export_files()
    package_file()
    object_files()
    gzip_files()
    other_files()
    with open(os.path.join(OUT, "expected.json"), "w") as f:
        json.dump(EXPECTED, f, indent=0)
        f.write("\n")
    with open(os.path.join(OUT, "README.md"), "w") as f:
        f.write("# Files that are not torch.save, and what it holds beside "
                "tensors\n\nMade by `tests/make_format_files.py`, with what a "
                "reader must find in `expected.json`.\n\n| file | what it is "
                "|\n|---|---|\n")
        for name, why in README:
            f.write("| %s | %s |\n" % (name, why))


main()
