#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the torch files of testdata/torch and expected.json beside them.

Run by hand with a recent torch: tests/make_torch_files.py testdata/torch
Files named good-* hold tensors that must be read as expected.json says,
unsupported-* are well formed but not for us, bad-* are damaged. What torch
itself can write is written by torch; the rest is assembled from bytes.
"""
import collections
import io
import json
import os
import pickle
import random
import struct
import sys
import warnings
import zipfile

import torch

warnings.simplefilter("ignore")
torch.manual_seed(20260115)
OUT = sys.argv[1] if len(sys.argv) > 1 else "testdata/torch"
EXPECTED = collections.OrderedDict()
README = []

FLOATS = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn",
          "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
          "float8_e8m0fnu"]
INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32",
            "int64", "bool"]
COMPLEX = ["complex32", "complex64", "complex128"]


# ---- what a reader must find ------------------------------------------------

def parts(tensor):
    """The tensor's real numbers in row-major order, as Python floats."""
    t = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if t.dtype == torch.uint64:
        return [float(v) for v in t.flatten().tolist()]
    if t.is_complex():
        real = torch.view_as_real(t.to(torch.complex128))
        return real.flatten().tolist()
    return t.to(torch.float64).flatten().tolist()


def describe(tensor):
    values = parts(tensor)
    finite = [v for v in values if v == v and abs(v) != float("inf")]
    return {
        "dtype": str(tensor.dtype), "shape": list(tensor.shape),
        "stride": list(tensor.stride()), "numel": tensor.numel(),
        "first": [repr(v) for v in values[:4]],
        "nan": sum(v != v for v in values),
        "inf": sum(abs(v) == float("inf") for v in values),
        "zero": sum(v == 0 for v in values),
        "min": min(finite, default=None), "max": max(finite, default=None),
        "sum": sum(finite), "l2": sum(v * v for v in finite) ** 0.5,
    }


def expect(name, why, tensors=None, skips=None, error=None):
    """tensors: path -> tensor; skips: path -> part of the reason; error: part
    of the message with which the whole file fails."""
    entry = collections.OrderedDict()
    for path, tensor in (tensors or {}).items():
        entry[path] = describe(tensor)
    for path, reason in (skips or {}).items():
        entry[path] = {"skip": reason}
    if error:
        entry["error"] = error
    EXPECTED[name] = entry
    README.append((name, why))


def put(name, data):
    with open(os.path.join(OUT, name), "wb") as f:
        f.write(data)


def save(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    return buffer.getvalue()


def legacy(obj):
    return save(obj, _use_new_zipfile_serialization=False)


# ---- archives from parts ----------------------------------------------------

def records(data):
    """name -> content of a zip archive, in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return collections.OrderedDict(
            (n, archive.read(n)) for n in archive.namelist())


def archive(contents, method=zipfile.ZIP_STORED, zip64=False):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, content in contents.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with made.open(info, "w", force_zip64=zip64) as record:
                record.write(content)
    return buffer.getvalue()


def entry_fields(data, name):
    """Offset of the central directory entry of a record."""
    at = data.find(b"PK\1\2")
    while at >= 0:
        length = struct.unpack_from("<H", data, at + 28)[0]
        if data[at + 46:at + 46 + length].decode() == name:
            return at
        at = data.find(b"PK\1\2", at + 4)
    raise KeyError(name)


def with_pickle(text, storages=(), top="archive/"):
    """An archive of a hand-made pickle."""
    contents = collections.OrderedDict()
    contents[top + "data.pkl"] = text
    contents[top + "byteorder"] = b"little"
    for key, content in storages:
        contents[top + "data/" + key] = content
    contents[top + "version"] = b"3\n"
    return contents


def tensor_pickle(shape, stride, offset=0, numel=4, key="0",
                  kind="FloatStorage"):
    """One float tensor with any geometry, protocol 2."""
    def integer(value):
        raw = value.to_bytes(9, "little", signed=True)
        return b"\x8a\x09" + raw

    def numbers(values):
        return b"(" + b"".join(integer(v) for v in values) + b"t"

    def text(value):
        raw = value.encode()
        return b"X" + struct.pack("<I", len(raw)) + raw

    storage = (b"(" + text("storage") + b"ctorch\n" + kind.encode() + b"\n" +
               text(key) + text("cpu") + integer(numel) + b"tQ")
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage +
            integer(offset) + numbers(shape) + numbers(stride) +
            b"\x89ccollections\nOrderedDict\n)RtR.")


FOUR = struct.pack("<4f", 1, -2, 3, 0.5)
FOUR_TENSOR = torch.tensor([1, -2, 3, 0.5])


# ---- good files -------------------------------------------------------------

def of_every_dtype():
    made = collections.OrderedDict()
    base = torch.tensor([0.0, 1.0, -1.5, 2.0, 0.25, float("nan")])
    for name in FLOATS:
        made[name] = base.to(getattr(torch, name))
    for name in INTEGERS:
        dtype = getattr(torch, name)
        low = 0 if name.startswith("uint") or name == "bool" else -3
        made[name] = torch.tensor([low, 0, 1, 2, 3]).to(dtype)
    for name in COMPLEX:
        value = torch.tensor([1 + 2j, -0.5j, 0, 3 - 4j])
        made[name] = value.to(getattr(torch, name))
    return made


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)
        self.register_buffer("steps", torch.tensor(7))


class Tagged(torch.Tensor):
    pass


Pair = collections.namedtuple("Pair", "left right")
One = collections.namedtuple("One", "only")


class Twins(tuple):
    pass


class Foreign:
    """Takes a tensor in its constructor."""
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return Foreign, (self.tensor,)


def good_torch():
    made = of_every_dtype()
    put("good-dtypes.zip.pt", save(made))
    expect("good-dtypes.zip.pt", "every dtype of torch, by torch.save", made)
    put("good-dtypes.legacy.pt", legacy(made))
    expect("good-dtypes.legacy.pt", "the same without zip", made)

    z = torch.tensor([1 + 2j, 3 - 4j, -5j])
    lazy = {"conj": z.conj(), "neg": z.clone().conj().imag,
            "step": z.clone().conj()[::2]}
    put("good-lazy-bits.pt", save(lazy))
    expect("good-lazy-bits.pt",
           "conjugated and negated views, whose bytes are not theirs", lazy)

    net = Net()
    put("good-module.pt", save(net))
    expect("good-module.pt", "a whole module: tensors among attributes", {
        "_buffers.steps": net.steps,
        "_modules.inner._parameters.weight": net.inner.weight,
        "_modules.inner._parameters.bias": net.inner.bias})

    optimizer = torch.optim.AdamW(net.parameters())
    net.inner(torch.randn(2, 3)).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    found = {"state.%d.%s" % (i, k): v for i, s in state["state"].items()
             for k, v in s.items()}
    put("good-optimizer.pt", save(state))
    expect("good-optimizer.pt", "state of AdamW: integer keys", found)

    tagged = torch.arange(6.0).reshape(2, 3).as_subclass(Tagged)
    tagged.scale = torch.tensor(0.5)
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.amax = torch.tensor(3.0)
    obj = {"tagged": tagged, "parameter": parameter}
    put("good-subclass.pt", save(obj))
    expect("good-subclass.pt",
           "a tensor subclass and a parameter, both with attributes",
           {"tagged": torch.arange(6.0).reshape(2, 3),
            "tagged.scale": tagged.scale, "parameter": parameter})

    good_containers()
    good_objects()
    good_distributed()
    good_archives()
    good_script()


def good_containers():
    t = [torch.full((2,), float(i)) for i in range(12)]
    default = collections.defaultdict(list)
    default["d"].append(t[3])
    obj = collections.OrderedDict([
        ("list", [t[0], (t[1], {"deep": t[2]})]), ("default", default),
        ("pair", Pair(t[4], t[5])), ("deque", collections.deque([t[6]])),
        (5, t[7]), (-1.5, t[8]), (True, t[9]),
        ("line\nfeed.\x7f", t[10]), ("\u4e2d", t[11]), ("none", None),
        ("size", torch.Size([1, 2])), ("big", 1 << 80), ("set", {1, 2}),
    ])
    put("good-containers.pt", save(obj))
    expect("good-containers.pt", "every container, and keys of every kind", {
        "list[0]": t[0], "list[1][0]": t[1], "list[1][1].deep": t[2],
        "default.d[0]": t[3], "deque[0]": t[6], "5": t[7], "-1.5": t[8],
        "True": t[9], "line\\x0afeed.\\x7f": t[10], "\u4e2d": t[11],
        "pair[0]": t[4], "pair[1]": t[5]})

    whole = torch.arange(12.0).reshape(3, 4)
    cycle = {"tensor": whole, "again": whole[1:, ::2]}
    cycle["self"] = cycle
    cycle["list"] = [cycle, whole.t()]
    put("good-cycle.pt", save(cycle))
    expect("good-cycle.pt", "a dict that contains itself", {
        "tensor": whole, "again": whole[1:, ::2], "list[1]": whole.t()})


def good_objects():
    """What holds tensors among the arguments of its constructor."""
    t = [torch.full((3,), float(i)) for i in range(3)]
    packed = torch.nn.utils.rnn.pack_sequence([t[0], t[1][:2]])
    best = torch.tensor([[1., 5.], [7., 2.]]).max(dim=0)
    obj = {"packed": packed, "one": One(t[0]), "twins": Twins((t[1], t[2])),
           "best": best, "nested": Pair([t[0]], {"k": t[1]}),
           "opaque": Foreign(Pair(t[0], t[1]))}
    put("good-objects.pt", save(obj))
    expect("good-objects.pt", "tuples with names and the like", {
        "packed[0]": packed.data, "packed[1]": packed.batch_sizes,
        "one[0]": t[0], "twins[0]": t[1], "twins[1]": t[2],
        "best[0]": best.values, "best[1]": best.indices,
        "nested[0][0]": t[0], "nested[1].k": t[1]},
        skips={"opaque": "Foreign"})


def good_distributed():
    """A DTensor of one process, and the two kinds of checkpoint shards."""
    from torch import distributed
    from torch.distributed.tensor import DeviceMesh, Shard, distribute_tensor
    distributed.init_process_group(
        "gloo", store=distributed.HashStore(), rank=0, world_size=1)
    t = torch.arange(6.0).reshape(3, 2)
    mesh = DeviceMesh("cpu", [0])
    obj = {"w": distribute_tensor(t, mesh, [Shard(0)]),
           "p": torch.nn.Parameter(distribute_tensor(t + 1, mesh,
                                                     [Shard(1)])),
           "b": torch.ones(2)}
    put("good-dtensor.pt", save(obj))
    expect("good-dtensor.pt", "distributed tensors: the rank's own part",
           {"w": t, "p": t + 1, "b": obj["b"]})
    distributed.destroy_process_group()


def good_archives():
    """Archives that follow one another, as in a distributed checkpoint."""
    t = [torch.full((3,), float(i)) for i in range(4)]
    plain, many = save(t[0]), save({"a": t[1], "b": [t[2]]})
    deflated = archive(records(save(t[3])), zipfile.ZIP_DEFLATED)
    commented = deflated[:-2] + struct.pack("<H", 2) + b"!?"
    whole = plain + save(3) + many + deflated + commented
    found = {"[0]": t[0], "[2].a": t[1], "[2].b[0]": t[2], "[3]": t[3],
             "[4]": t[3]}
    put("good-archives.pt", whole)
    expect("good-archives.pt", "five archives, one after another", found)
    other = archive({"x/readme.txt": b"no tensors"})
    put("unsupported-archives.pt", other + plain)
    expect("unsupported-archives.pt", "an archive of another kind first",
           {"[1]": t[0]}, skips={"[0]": "without data.pkl"})
    # the middle one has no end: what is in front of it is not looked for
    named = save({"t": t[3]})
    put("bad-archives-front.pt", plain + many[:-30] + named)
    expect("bad-archives-front.pt", "an archive is cut off before another",
           {"t": t[3]},
           skips={"": "%d bytes stand before" % (len(plain + many) - 30)})
    put("bad-archives-behind.pt", named + many[:-30])
    expect("bad-archives-behind.pt", "an archive is cut off behind another",
           {"t": t[3]},
           skips={"": "%d bytes follow" % (len(many) - 30)})


def good_script():
    module = torch.jit.script(torch.nn.Linear(2, 2))
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    put("good-script.pt", buffer.getvalue())
    expect("good-script.pt", "a TorchScript archive", {
        "weight": module.weight, "bias": module.bias})


def good_plain():
    whole = torch.arange(6.0, dtype=torch.bfloat16).reshape(2, 3)
    obj = {"tensor": whole, "row": whole[1], "k": torch.arange(3, 300),
           "metadata": {"rank": 1, "name": "caf\u00e9"}}
    for protocol in (0, 2, 4, 5):
        name = "good-plain-protocol%d.pkl" % protocol
        put(name, pickle.dumps(obj, protocol=protocol))
        expect(name, "pickle.dump with protocol %d, not torch.save" % protocol,
               {k: v for k, v in obj.items() if torch.is_tensor(v)})
    put("unsupported-two-pickles.pkl",
        pickle.dumps({"a": whole}) + pickle.dumps({"b": whole}))
    expect("unsupported-two-pickles.pkl", "one pickle after another",
           {"a": whole}, skips={"": "bytes follow the first pickle"})
    # two storages that are one byte string
    one = bytearray(pickle.dumps([torch.ones(99), torch.ones(99)]))
    at = one.index(b"\x80\x02\x8a\x0al") - 5
    length = 5 + struct.unpack_from("<I", one, at + 1)[0]
    text = bytes(one[at:at + length])
    tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n(ctorch.storage\n"
              b"_load_from_bytes\n%s\x85RK\x00Kc\x85K\x01\x85\x89"
              b"ccollections\nOrderedDict\n)RtR")
    put("bad-shared-bytes.pkl", b"\x80\x03(" + tensor % (text + b"q\x07") +
        tensor % b"h\x07" + tensor % b"h\x07" + b"t.")
    expect("bad-shared-bytes.pkl", "storages that share one byte string",
           {"[0]": torch.ones(99)},
           skips={"[1]": "share", "[2]": "share"})
    put("good-plain-f8.pkl",
        pickle.dumps(whole.to(torch.float8_e5m2), protocol=4))
    expect("good-plain-f8.pkl", "an untyped storage in a plain pickle",
           {"": whole.to(torch.float8_e5m2)})


def good_zip():
    t = torch.randn(300).to(torch.bfloat16)
    zeros = torch.zeros(1000)
    source = records(save({"t": t, "zeros": zeros}))
    found = {"t": t, "zeros": zeros}
    put("good-deflated.pt", archive(source, zipfile.ZIP_DEFLATED))
    expect("good-deflated.pt", "the records packed by deflate", found)
    stored = source
    large = torch.zeros(1 << 20, dtype=torch.float64)
    large[1 << 19] = 2.5
    obj = {"large": large, "again": large.clone(), "t": t}
    put("good-deflated-large.pt",
        archive(records(save(obj)), zipfile.ZIP_DEFLATED))
    expect("good-deflated-large.pt", "two records of 8 MiB in 8 KiB each",
           obj)
    put("good-zip64.pt", archive(records(save(t)), zip64=True))
    expect("good-zip64.pt", "zip64 fields in every local header", {"": t})
    flat = {n.split("/", 1)[1]: c for n, c in records(save(t)).items()}
    put("good-no-folder.pt", archive(flat))
    expect("good-no-folder.pt", "data.pkl without a top folder", {"": t})
    old = collections.OrderedDict(
        (n, c) for n, c in stored.items()
        if n.endswith(("data.pkl", "version")) or "/data/" in n)
    put("good-old-zip.pt", archive(old))
    expect("good-old-zip.pt", "no byteorder record, as before torch 2.1",
           found)
    swapped = collections.OrderedDict(records(save(t)))
    for n in swapped:
        if n.endswith("/byteorder"):
            swapped[n] = b"big"
        if n.endswith("/data/0"):
            pairs = swapped[n]
            swapped[n] = b"".join(pairs[i:i + 2][::-1]
                                  for i in range(0, len(pairs), 2))
    put("good-big-endian.pt", archive(swapped))
    expect("good-big-endian.pt", "storages of a big-endian machine", {"": t})
    # torch names the top folder after the file
    path = os.path.join(OUT, "good-\x1b[31m\x07name.pt")
    torch.save({"t": t}, path)
    os.rename(path, os.path.join(OUT, "good-odd-folder.pt"))
    expect("good-odd-folder.pt", "a top folder with control characters",
           {"t": t})
    torch.serialization.set_crc32_options(False)
    put("good-no-crc.pt", save(t))
    torch.serialization.set_crc32_options(True)
    expect("good-no-crc.pt", "written with the CRC-32s left out", {"": t})
    # a comment, which the search for the directory has to step over
    data = archive(records(save(t)))
    put("good-comment.pt", data[:-2] + struct.pack("<H", 5) + b"PK\5\6!")
    expect("good-comment.pt", "an archive comment that looks like an end",
           {"": t})


def good_legacy_protocols():
    obj = {"a": torch.arange(4.0), "b": torch.ones(2, dtype=torch.int8)}
    for protocol in (3, 4, 5):
        name = "good-protocol%d.legacy.pt" % protocol
        put(name, save(obj, _use_new_zipfile_serialization=False,
                       pickle_protocol=protocol))
        expect(name, "a legacy stream of pickle protocol %d" % protocol, obj)
    put("unsupported-two-streams.legacy.pt", legacy(obj) + legacy(obj))
    expect("unsupported-two-streams.legacy.pt", "a stream after another",
           obj, skips={"": "bytes follow the stream"})


def good_views_legacy():
    """Storage views, which torch wrote before 0.4: key, offset, size."""
    data = bytearray(legacy(torch.arange(8.0)))
    at = data.index(b"K\x08N")
    head, tail = data[:at], data[at + 3:]
    view = b"K\x08(X\x01\x00\x00\x00vK\x02K\x05t"
    body = head + view + tail
    # the tensor: offset 0, size 8, stride 1 becomes offset 1, size 4
    at = body.index(b"QK\x00K\x08\x85")
    body[at:at + 6] = b"QK\x01K\x04\x85"
    put("good-storage-view.legacy.pt", bytes(body))
    expect("good-storage-view.legacy.pt",
           "a storage that is a view of another one",
           {"": torch.arange(8.0)[3:7]})


# ---- unsupported files ------------------------------------------------------

def unsupported():
    t = torch.ones(2)
    cases = [
        ("sparse-coo", torch.eye(2).to_sparse(), "sparse"),
        ("sparse-csr", torch.eye(2).to_sparse_csr(), "sparse"),
        ("nested", torch.nested.nested_tensor([t, torch.ones(3)]), "nested"),
        ("meta", torch.empty(3, device="meta"), "meta"),
        ("call", Foreign(t), "Foreign"),
    ]
    for name, obj, reason in cases:
        file = "unsupported-%s.pt" % name
        put(file, save({"good": t, "it": obj}))
        expect(file, "one tensor of a kind that is not read, beside a good "
               "one", {"good": t}, skips={"it": reason})
    put("unsupported-bzip2.pt", archive(records(save({"t": t})),
                                        zipfile.ZIP_BZIP2))
    expect("unsupported-bzip2.pt", "records packed by bzip2",
           error="unknown method")
    put("unsupported-tar.pt", b"sys_info" + bytes(56 + 448))
    expect("unsupported-tar.pt", "the head of a tar archive of torch 0.1",
           error="tar archive")
    put("unsupported-zip.pt", archive({"readme.txt": b"no tensors"}))
    expect("unsupported-zip.pt", "some other zip archive",
           error="without data.pkl")
    put("unsupported-buffers.pkl", b"\x80\x05\x97.")
    expect("unsupported-buffers.pkl", "a pickle with buffers outside it",
           error="outside the pickle")
    put("unsupported-text.pt", b"not a tensor at all\n")
    expect("unsupported-text.pt", "a text", error="not a torch file")


def foreign():
    """Files of other programs, which are recognised but not read."""
    for name, data, reason in [
            ("lfs", b"version https://git-lfs.github.com/spec/v1\n"
             b"oid sha256:" + b"0" * 64 + b"\nsize 12345\n", "Git LFS"),
            ("hdf5", b"\x89HDF\r\n\x1a\n" + bytes(88), "HDF5")]:
        put("unsupported-%s.pt" % name, data)
        expect("unsupported-%s.pt" % name, "a file of another program: " +
               name, error=reason)


# ---- bad files --------------------------------------------------------------

def bad_zip():
    t = torch.arange(32.0)
    data = save({"t": t, "u": torch.ones(2)})
    whole = bytearray(data)
    at = data.index(struct.pack("<4f", 4, 5, 6, 7))
    whole[at] ^= 1
    put("bad-crc-storage.pt", bytes(whole))
    # the content is checked when it is read, not when the file is opened
    changed = t.clone()
    changed.view(torch.int32)[4] ^= 1
    expect("bad-crc-storage.pt", "one bit of a storage flipped",
           {"t": changed, "u": torch.ones(2)})
    whole = bytearray(data)
    whole[data.index(b"_rebuild_tensor_v2")] ^= 1
    put("bad-crc-pickle.pt", bytes(whole))
    expect("bad-crc-pickle.pt", "one bit of the pickle flipped",
           error="CRC-32")
    put("bad-truncated.pt", data[:-100])
    expect("bad-truncated.pt", "the end of the archive is missing",
           error="zip directory")
    put("bad-empty.pt", b"")
    expect("bad-empty.pt", "no byte at all", error="empty")

    plain = archive(with_pickle(tensor_pickle([4], [1]), [("0", FOUR)]))
    for name, field, value, reason in [
            ("method", 10, "<H", None), ("size", 24, "<I", "claims"),
            ("offset", 42, "<I", "")]:
        made = bytearray(plain)
        at = entry_fields(plain, "archive/data/0")
        if name == "method":
            struct.pack_into("<H", made, at + 10, 97)
            reason = "unknown method 97"
        elif name == "size":
            struct.pack_into("<I", made, at + 24, 0x7ffffff0)
        else:
            struct.pack_into("<I", made, at + 42, len(plain) - 30)
        put("bad-record-%s.pt" % name, bytes(made))
        expect("bad-record-%s.pt" % name,
               "a wrong %s in the directory entry of a storage" % name,
               skips={"": reason})
    made = bytearray(plain)
    end = made.rindex(b"PK\5\6")
    struct.pack_into("<I", made, end + 16, 0x7fffffff)
    put("bad-directory-outside.pt", bytes(made))
    expect("bad-directory-outside.pt", "the directory lies beyond the end",
           error="zip directory")
    put("bad-no-record.pt", archive(with_pickle(tensor_pickle([4], [1]))))
    expect("bad-no-record.pt", "the storage's record is missing",
           skips={"": "no record archive/data/0"})

    bomb = archive(with_pickle(tensor_pickle([4], [1]), [("0", FOUR)]),
                   zipfile.ZIP_DEFLATED)
    made = bytearray(bomb)
    at = entry_fields(bomb, "archive/data/0")
    struct.pack_into("<I", made, at + 24, 0x7ffffff0)
    put("bad-bomb.pt", bytes(made))
    expect("bad-bomb.pt", "18 packed bytes that claim to be 2 GiB",
           skips={"": "claims"})
    put("bad-bomb-pickle.pt", archive(with_pickle(
        b"\x80\x02(" + b"]" * 1000000 + b"t."), zipfile.ZIP_DEFLATED))
    expect("bad-bomb-pickle.pt", "a million lists in 1 KiB",
           error="no honest pickle")
    # two entries that share one record's bytes, each as large as the file
    two = (b"\x80\x02(" + tensor_pickle([4], [1], key="0")[2:-1] +
           tensor_pickle([4], [1], key="1")[2:-1] +
           tensor_pickle([4], [1], key="2")[2:-1] + b"t.")
    big = struct.pack("<256f", *range(256))
    data = bytearray(archive(with_pickle(
        two, [("0", big), ("1", b"x"), ("2", b"x")])))
    first = entry_fields(data, "archive/data/0")
    for key in "12":
        at = entry_fields(data, "archive/data/" + key)
        data[at + 16:at + 28] = data[first + 16:first + 28]
        data[at + 42:at + 46] = data[first + 42:first + 46]
    put("bad-overlap.pt", bytes(data))
    expect("bad-overlap.pt", "three directory entries for the same bytes",
           {"[0]": torch.arange(4.0)},
           skips={"[1]": "more bytes than the file", "[2]": "more bytes"})


def bad_geometry():
    for name, text, reason in [
            ("offset", tensor_pickle([4], [1], offset=1), "leaves"),
            ("negative-offset", tensor_pickle([4], [1], offset=-1),
             "negative"),
            ("negative-stride", tensor_pickle([4], [-1], offset=3),
             "negative"),
            ("negative-size", tensor_pickle([-4], [1]), "negative"),
            ("huge-size", tensor_pickle([1 << 62, 1 << 62], [0, 0]),
             "2^63"),
            ("huge-stride", tensor_pickle([2, 2], [1 << 62, 1 << 62]),
             "leaves"),
            ("strides", tensor_pickle([2, 2], [1]), "strides"),
            ("dimensions", tensor_pickle([1] * 65, [1] * 65), "dimensions"),
            ("numel", tensor_pickle([4], [1], numel=-1), "elements"),
            ("class", tensor_pickle([4], [1], kind="OddStorage"),
             "OddStorage")]:
        file = "bad-%s.pt" % name
        put(file, archive(with_pickle(text, [("0", FOUR)])))
        expect(file, "a tensor whose %s is impossible" %
               name.replace("-", " "), skips={"": reason})
    text = tensor_pickle([1 << 50], [0])
    put("good-huge-expanded.pt", archive(with_pickle(text, [("0", FOUR)])))
    expect("good-huge-expanded.pt",
           "one stored number shown 2^50 times (legal)")
    EXPECTED["good-huge-expanded.pt"][""] = {
        "dtype": "torch.float32", "shape": [1 << 50], "stride": [0],
        "numel": 1 << 50, "first": ["1.0"] * 4}


def bad_pickle():
    cases = [
        ("no-stop", b"\x80\x02K\x01", "STOP"),
        ("opcode", b"\x80\x02\xff.", "no such opcode"),
        ("underflow", b"\x80\x02R.", "stack"),
        ("no-mark", b"\x80\x02t.", "mark"),
        ("memo", b"\x80\x02h\x05.", "stored"),
        ("memo-number", b"\x80\x02Nr\xff\xff\xff\x7f.", "memo number"),
        ("odd-dict", b"\x80\x02}(Nu.", "without a value"),
        ("append-to-number", b"\x80\x02K\x01Na.", "container"),
        ("build-on-number", b"\x80\x02K\x01}b.", "no object"),
        ("long-string", b"\x80\x02X\xff\xff\xff\xff.", "argument"),
        ("long-bytes8", b"\x80\x04\x8e" + b"\xff" * 8 + b".", "argument"),
        ("frame", b"\x80\x04\x95" + b"\xff" * 8 + b".", "frame"),
        ("global", b"\x80\x02ctorch", "no end"),
        ("protocol", b"\x80\x05\x80\x06.", "protocol"),
    ]
    for name, text, reason in cases:
        file = "bad-pickle-%s.pkl" % name
        put(file, text)
        expect(file, "a pickle with this fault: %s" % name, error=reason)


def bad_legacy():
    data = legacy(torch.arange(8.0))
    put("bad-truncated.legacy.pt", data[:-5])
    expect("bad-truncated.legacy.pt", "cut inside the last storage",
           skips={"": "the file ends inside the storage"})
    put("bad-no-storages.legacy.pt", data[:-40 - 25])
    expect("bad-no-storages.legacy.pt", "cut inside the list of storages",
           skips={"": "storages"})
    made = bytearray(data)
    made[-40:-32] = struct.pack("<q", -1)
    put("bad-count.legacy.pt", bytes(made))
    expect("bad-count.legacy.pt", "a storage of 2^64 - 1 elements",
           skips={"": "ends inside"})
    made[-40:-32] = struct.pack("<q", 7)
    put("bad-count-small.legacy.pt", bytes(made))
    expect("bad-count-small.legacy.pt", "a storage one element too short",
           skips={"": "7 elements, but the object says 8"})
    made[-40:-32] = struct.pack(">q", 8)
    put("good-count-big-endian.legacy.pt", bytes(made))
    expect("good-count-big-endian.legacy.pt",
           "the count as old torch wrote it on big-endian machines",
           {"": torch.arange(8.0)})
    made = bytearray(data)
    made[made.index(b"M\xe9\x03") + 1] = 0
    put("bad-protocol.legacy.pt", bytes(made))
    expect("bad-protocol.legacy.pt", "protocol 768 instead of 1001",
           error="protocol 768")


def main():
    for old in os.listdir(OUT):
        if old.startswith(("good-", "bad-", "unsupported-")):
            os.remove(os.path.join(OUT, old))
    for make in (good_torch, good_plain, good_zip, good_legacy_protocols,
                 good_views_legacy, unsupported, foreign, bad_zip,
                 bad_geometry, bad_pickle, bad_legacy):
        make()
    with open(os.path.join(OUT, "expected.json"), "w") as f:
        json.dump(EXPECTED, f, indent=0)
        f.write("\n")
    with open(os.path.join(OUT, "README.md"), "w") as f:
        f.write("# Torch files\n\nMade by tests/make_torch_files.py with torch "
                + torch.__version__.split("+")[0] + "; what a\nreader must "
                "find is in expected.json.\n\n"
                "| file | what it is |\n|---|---|\n")
        for name, why in README:
            f.write("| %s | %s |\n" % (name, why))


main()
