"""python compare.py FILE.gguf FOLDER: compares each tensor of a model folder with what the package `gguf` reads, bit for bit.

Prints JSON with the number of equal tensors and of all tensors for each type, and the names of tensors that differ.
"""

import json, sys
import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from make_golden import folder_name



def read_weights(file: str) -> dict[str, np.ndarray]:
    """Reads every tensor of a safetensors file as float32. NumPy has no bfloat16, so the library cannot read such
    tensors."""
    whole = np.memmap(file, dtype=np.uint8, mode="r")
    length = int(whole[:8].view("<u8")[0])
    found = {}
    for name, entry in json.loads(whole[8 : 8 + length].tobytes()).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        bits = whole[8 + length + begin : 8 + length + end]
        if entry["dtype"] == "BF16":
            values = (bits.view("<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = bits.view({"F32": "<f4", "F16": "<f2"}[entry["dtype"]]).astype(np.float32)
        found[name] = values.reshape(entry["shape"])
    return found


path, folder = sys.argv[1:]
reader = GGUFReader(path)
arch = reader.fields["general.architecture"].contents()
source = json.load(open(f"{folder}/model_source.json"))
heads = {part: reader.fields[f"{arch}.attention.{key}"].contents() for part, key in (("attn_q", "head_count"), ("attn_k", "head_count_kv"))}
tensors = {tensor.name: tensor for tensor in reader.tensors}
if source["merged_head"]:
    # the folder has the more precise of the two as its embedding
    bits = {name: tensors[name].n_bytes for name in ("token_embd.weight", "output.weight")}
    finer = max(bits, key=lambda name: bits[name])
    tensors["token_embd.weight"] = tensors[finer]
    del tensors["output.weight"]

types: dict[str, dict[str, int]] = {}
differs: list[str] = []
weights = read_weights(f"{folder}/model.safetensors")
for name, tensor in tensors.items():
    wanted = dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(tuple(int(size) for size in tensor.shape)[::-1])
    part = name.split(".")[2] if name.startswith("blk.") else ""
    if arch == "llama" and part in heads:
        wanted = wanted.reshape(heads[part], wanted.shape[0] // heads[part] // 2, 2, -1).swapaxes(1, 2).reshape(wanted.shape)
    found = weights.pop(folder_name(name), None)
    same = found is not None and found.shape == wanted.shape and np.array_equal(found.view(np.uint32), np.ascontiguousarray(wanted).view(np.uint32))
    counts = types.setdefault(tensor.tensor_type.name, {"equal": 0, "tensors": 0})
    counts["tensors"] += 1
    counts["equal"] += int(same)
    if not same:
        differs.append(name)
print(json.dumps({"types": types, "differs": differs, "not_in_file": sorted(weights)}))
