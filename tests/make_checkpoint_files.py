#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the checkpoints of testdata/checkpoints and expected.json beside them.

Run by hand with a recent torch and safetensors:
tests/make_checkpoint_files.py testdata/checkpoints
A unit is a file or a folder; good-* must be read as expected.json says, bad-*
have a sentence there under "". What torch and safetensors can write, they
write (torch.distributed.checkpoint: two processes); the rest is changed bytes.
"""
import json
import os
import pickle
import shutil
import struct
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

OUT = sys.argv[1] if len(sys.argv) > 1 else "testdata/checkpoints"
EXPECTED = {}


def describe(t):
    """What a reader must find; sums over the finite values, in double."""
    t = t.detach().contiguous()
    v = torch.view_as_real(t).flatten() if t.is_complex() else t.flatten()
    v = v.to(torch.float64)
    finite = v[v.isfinite()]
    record = {"dtype": str(t.dtype), "shape": list(t.shape),
              "numel": t.numel(), "first": [repr(x) for x in v[:4].tolist()],
              "nan": int(v.isnan().sum()), "inf": int(v.isinf().sum()),
              "zero": int((v == 0).sum())}
    if len(finite):
        record.update(min=finite.min().item(), max=finite.max().item(),
                      l2=finite.square().sum().sqrt().item())
    return record


def path(name):
    return os.path.join(OUT, name)


def expect(name, tensors, error=None):
    EXPECTED[name] = {k: describe(v) for k, v in tensors.items()}
    if error:
        EXPECTED[name][""] = {"error": error}


def noise(seed, *shape, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g).to(dtype)


# ---- safetensors ------------------------------------------------------------

def some_tensors():
    t = {"model.layers.%d.w" % i: noise(i, 6, 5, dtype=torch.bfloat16)
         for i in range(2)}
    t.update(b=noise(7, 5), n=torch.tensor(7), e=torch.zeros(0, 3),
             f8=noise(8, 4, 4).to(torch.float8_e4m3fn),
             c=noise(9, 3, 2).view(torch.complex64).squeeze(-1),
             x=torch.tensor([1.0, float("nan"), float("inf"), -0.0]),
             m=torch.tensor([True, False, True]))
    return t


def header_of(data):
    n = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + n]), data[8 + n:]


def with_header(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def put(name, data):
    with open(path(name), "wb") as f:
        f.write(data)


def make_safetensors():
    tensors = some_tensors()
    save_file(tensors, path("good-saved.safetensors"), {"format": "pt"})
    expect("good-saved.safetensors", tensors)
    with open(path("good-saved.safetensors"), "rb") as f:
        data = f.read()
    header, body = header_of(data)

    # every code of the formats whose elements are not bytes
    four = bytes((2 * i + 1) << 4 | 2 * i for i in range(8))
    bits = sum(c << 6 * i for i, c in enumerate(range(64)))
    six = bits.to_bytes(48, "little")
    packed = with_header(
        {"f4": {"dtype": "F4", "shape": [16], "data_offsets": [0, 8]},
         "e2m3": {"dtype": "F6_E2M3", "shape": [64], "data_offsets": [8, 56]},
         "e3m2": {"dtype": "F6_E3M2", "shape": [64],
                  "data_offsets": [56, 104]}}, four + six + six)
    put("good-packed.safetensors", packed)

    def small(code, e, m, bias):
        s = -1.0 if code >> (e + m) else 1.0
        x, f = code >> m & (1 << e) - 1, code & (1 << m) - 1
        return s * ((1 + f / 2 ** m) * 2.0 ** (x - bias) if x else
                    f / 2 ** m * 2.0 ** (1 - bias))
    values = {n: torch.tensor([small(c, *how) for c in range(count)],
                              dtype=torch.float64)
              for n, count, how in [("f4", 16, (2, 1, 1)),
                                    ("e2m3", 64, (2, 3, 1)),
                                    ("e3m2", 64, (3, 2, 3))]}
    expect("good-packed.safetensors", values)
    for n, d in [("f4", "torch.float4_e2m1fn_x2"), ("e2m3", "float6_e2m3fn"),
                 ("e3m2", "float6_e3m2fn")]:
        EXPECTED["good-packed.safetensors"][n]["dtype"] = d

    cut = {k: v for k, v in tensors.items()
           if header[k]["data_offsets"][1] <= len(body) - 3}
    put("bad-cut.safetensors", data[:-3])
    expect("bad-cut.safetensors", cut, "3 are missing")
    put("bad-tail.safetensors", data + b"abc")
    expect("bad-tail.safetensors", tensors, "3 bytes follow the last tensor")
    wrong = json.loads(json.dumps(header))
    wrong["b"]["shape"] = [6]
    put("bad-shape.safetensors", with_header(wrong, body))
    expect("bad-shape.safetensors", {}, "need 24 bytes, its data has 20")
    put("bad-page.safetensors", b"<!DOCTYPE html>\n<title>Log in</title>\n")
    expect("bad-page.safetensors", {}, "a page of HTML")


def make_sharded():
    tensors = some_tensors()
    names = sorted(tensors)
    where = {n: "model-%05d-of-00002.safetensors" % (1 + (i > 4))
             for i, n in enumerate(names)}
    size = sum(t.numel() * t.element_size() for t in tensors.values())
    for unit, total in [("good-sharded", size), ("bad-sharded", size)]:
        os.makedirs(path(unit))
        for f in set(where.values()):
            save_file({n: tensors[n] for n in names if where[n] == f},
                      path(os.path.join(unit, f)))
        with open(path(unit + "/model.safetensors.index.json"), "w") as f:
            json.dump({"metadata": {"total_size": total},
                       "weight_map": where}, f, indent=2)
    expect("good-sharded", tensors)
    os.remove(path("bad-sharded/model-00002-of-00002.safetensors"))
    expect("bad-sharded", {n: tensors[n] for n in names
                           if where[n].startswith("model-00001")},
           "model-00002-of-00002.safetensors of the index is not there")
    os.makedirs(path("good-bin"))
    halves = names[:4], names[4:]
    for i, half in enumerate(halves):
        torch.save({n: tensors[n] for n in half},
                   path("good-bin/pytorch_model-%05d-of-00002.bin" % (i + 1)))
    with open(path("good-bin/pytorch_model.bin.index.json"), "w") as f:
        json.dump({"weight_map": {
            n: "pytorch_model-%05d-of-00002.bin" % (i + 1)
            for i, half in enumerate(halves) for n in half}}, f)
    expect("good-bin", tensors)


# ---- torch.distributed.checkpoint -------------------------------------------

def whole_tensors():
    return {"w": noise(1, 7, 6), "v": noise(2, 5, 9, dtype=torch.bfloat16),
            "r": noise(3, 4), "s": torch.tensor(2.5),
            "one": noise(4, 1, 3), "e": torch.zeros(0, 2)}


def state(mesh):
    full = whole_tensors()
    put = {"w": Shard(0), "v": Shard(1), "one": Shard(0), "r": Replicate()}
    made = {k: distribute_tensor(t, mesh, [put[k]]) if k in put else t
            for k, t in full.items()}
    return {"model": made, "step": 12, "rng": torch.arange(8.0).to(torch.uint8),
            "extra": {"list": [1, 2], "text": "x"}}


def save_all(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29431",
                      RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    dcp.save(state(mesh), checkpoint_id=path("good-dcp"))
    dcp.save(state(mesh), storage_writer=dcp.FileSystemWriter(
        path("good-dcp_of_ranks")), use_collectives=False)
    dist.barrier()
    from torch.distributed.checkpoint import HuggingFaceStorageWriter
    flat = {k: v for k, v in state(mesh)["model"].items() if k in "wv"}
    dcp.save(flat, storage_writer=HuggingFaceStorageWriter(
        path=path("good-dcp_safetensors"), save_distributed=True,
        fqn_to_index_mapping={k: 1 for k in flat}))
    dist.destroy_process_group()


def edit_metadata(unit, edit):
    shutil.copytree(path("good-dcp"), path(unit))
    name = path(unit + "/.metadata")
    with open(name, "rb") as f:
        metadata = pickle.load(f)
    edit(metadata)
    with open(name, "wb") as f:
        pickle.dump(metadata, f)


class Call:
    def __reduce__(self):
        return os.system, ("true",)


def make_dcp():
    mp.spawn(save_all, nprocs=2)
    full = {"model." + k: v for k, v in whole_tensors().items()}
    full["rng"] = torch.arange(8.0).to(torch.uint8)
    expect("good-dcp", full)
    expect("good-dcp_of_ranks", full)
    expect("good-dcp_safetensors",
           {k: v for k, v in whole_tensors().items() if k in "wv"})

    def hole(m):
        del m.state_dict_metadata["model.w"].chunks[1]
    edit_metadata("bad-dcp_hole", hole)
    expect("bad-dcp_hole", {k: v for k, v in full.items() if k != "model.w"},
           "a hole: its 1 part has")

    def overlap(m):
        chunks = m.state_dict_metadata["model.w"].chunks
        chunks.append(chunks[0])
    edit_metadata("bad-dcp_overlap", overlap)
    expect("bad-dcp_overlap", {k: v for k, v in full.items()
                               if k != "model.w"}, "of it overlap")

    def escape(m):
        for index, info in m.storage_data.items():
            if index.fqn == "model.r":
                info.relative_path = "../good-dcp/" + info.relative_path
    edit_metadata("bad-dcp_escape", escape)
    expect("bad-dcp_escape", {k: v for k, v in full.items()
                              if k != "model.r"}, "not one of the same folder")

    def call(m):
        m.planner_data = Call()
    edit_metadata("bad-dcp_call", call)
    expect("bad-dcp_call", full, "would call posix.system")
    edit_metadata("bad-dcp_missing", lambda m: None)
    os.remove(path("bad-dcp_missing/__1_0.distcp"))
    expect("bad-dcp_missing", {}, "__1_0.distcp is not there")
    shutil.copytree(path("good-dcp"), path("bad-dcp_unfinished"))
    os.rename(path("bad-dcp_unfinished/.metadata"),
              path("bad-dcp_unfinished/.metadata.tmp"))
    expect("bad-dcp_unfinished", {}, "an unfinished checkpoint")
    shutil.copytree(path("good-dcp"), path("bad-dcp_cut"))
    name = path("bad-dcp_cut/__0_0.distcp")
    os.truncate(name, os.path.getsize(name) // 2)
    expect("bad-dcp_cut", {}, "the file ends at byte")
    make_lone_and_flipped(full)


def make_lone_and_flipped(full):
    """Without metadata; and one bit of a part of w that is another."""
    shutil.copytree(path("good-dcp"), path("bad-dcp_lone"))
    os.remove(path("bad-dcp_lone/.metadata"))
    expect("bad-dcp_lone", {}, "no .metadata beside it")
    shutil.copytree(path("good-dcp"), path("bad-dcp_flipped"))
    name = path("bad-dcp_flipped/__1_0.distcp")
    with open(name, "rb") as f:
        data = bytearray(f.read())
    data[data.index(full["model.w"][4:].numpy().tobytes()) + 9] ^= 4
    with open(name, "wb") as f:
        f.write(data)
    expect("bad-dcp_flipped", {k: v for k, v in full.items()
                               if k != "model.w"},
           "wrong CRC-32 in __1_0.distcp")


def megatron_part(name, whole, rank, ranks):
    """What rank of the legacy layout holds of a parameter."""
    column = ("linear_qkv", "linear_fc1", "word_embeddings", "output_layer")
    module, leaf = name.split(".")[-2:]
    if module in column:
        return whole.chunk(ranks, 0)[rank].clone()
    if module in ("linear_proj", "linear_fc2") and leaf == "weight":
        return whole.chunk(ranks, 1)[rank].clone()
    return whole


def megatron_whole(layers):
    one = {"self_attention.linear_qkv.weight": (12, 4),
           "self_attention.linear_qkv.bias": (12,),
           "self_attention.linear_proj.weight": (4, 4),
           "self_attention.linear_proj.bias": (4,),
           "mlp.linear_fc1.weight": (8, 4), "mlp.linear_fc2.weight": (4, 8),
           "mlp.router.weight": (2, 4), "input_layernorm.weight": (4,)}
    shapes = {"embedding.word_embeddings.weight": (10, 4)}
    for i in range(layers):
        shapes.update({f"decoder.layers.{i}.{k}": s for k, s in one.items()})
    shapes.update({"decoder.final_layernorm.weight": (4,),
                   "output_layer.weight": (10, 4)})
    return {k: noise(100 + i, *s, dtype=torch.bfloat16)
            for i, (k, s) in enumerate(shapes.items())}


def make_megatron(unit, tensor_ranks, chunks):
    """chunks: layers of each stage's virtual stages, [virtual][stage]."""
    stages = len(chunks[0])
    whole = megatron_whole(sum(sum(c) for c in chunks))
    tensors = {}
    for t in range(tensor_ranks):
        for p in range(stages):
            state = {"iteration": 10, "optimizer": {"step": torch.tensor(3)}}
            for v, counts in enumerate(chunks):
                before = sum(sum(c) for c in chunks[:v]) + sum(counts[:p])
                part = {}
                for name, w in whole.items():
                    words = name.split(".")
                    last = v == len(chunks) - 1 and p == stages - 1
                    if "layers" in words:
                        layer = int(words[2]) - before
                        if not 0 <= layer < counts[p]:
                            continue
                        words[2] = str(layer)
                    elif last == name.startswith("emb") or not (
                            last or v == p == 0):
                        continue
                    part[".".join(words)] = megatron_part(name, w, t,
                                                          tensor_ranks)
                key = "model" if len(chunks) == 1 else f"model{v}"
                state[key] = part
                at = f"mp_rank_{t:02}_{p:03}/model_optim_rng.pt"
                tensors.update({f"{at}:{key}.{k}": x for k, x in part.items()})
            folder = path(f"{unit}/{os.path.dirname(at)}")
            os.makedirs(folder, exist_ok=True)
            torch.save(state, path(f"{unit}/{at}"))
    tensors.update({f"assembled:{k}": w for k, w in whole.items()})
    expect(unit, tensors)


def make_megatrons():
    make_megatron("good-megatron", 2, [[2, 1]])
    make_megatron("good-megatron_virtual", 1, [[1, 1], [1, 1]])
    make_megatron("bad-megatron", 2, [[1, 1]])
    shutil.rmtree(path("bad-megatron/mp_rank_01_001"))
    EXPECTED["bad-megatron"] = {
        "": {"error": "mp_rank_01_001 is not there"}}


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    make_safetensors()
    make_sharded()
    make_dcp()
    make_megatrons()
    with open(path("expected.json"), "w") as f:
        json.dump(EXPECTED, f, indent=1, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()
