"""python make_golden.py FOLDER: makes small GGUF files, and what the package `gguf` reads from them, for the tests of
packages/gguf.

types.json holds blocks of every type, drawn at random, and their values. llama.gguf, qwen2.gguf and qwen3.gguf are
whole tiny models. NAME.json has the SHA-256 of each tensor in the model folder: float32, little endian. tiny.whl is a
wheel that contains llama.gguf.
"""

import base64, hashlib, json, os, sys, zipfile
import numpy as np
from gguf import GGMLQuantizationType as Type, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize

out = sys.argv[1] if len(sys.argv) > 1 else "."
draw = np.random.default_rng(7)
scale_places = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def blocks_of(kind: Type, count: int) -> np.ndarray:
    _, size = GGML_QUANT_SIZES[kind]
    blocks = draw.integers(0, 256, (count, size), dtype=np.uint8)
    for at in scale_places[kind.name]:
        scales = (draw.standard_normal(count) * 0.02).astype(np.float16)
        blocks[:, at : at + 2] = scales.view(np.uint8).reshape(count, 2)
    return blocks


def text(data: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(data).tobytes()).decode()


def write_types() -> None:
    found = {}
    for name in scale_places:
        blocks = blocks_of(Type[name], 2 if name.endswith("K") else 8)
        found[name] = {"blocks": text(blocks), "values": text(dequantize(blocks, Type[name]))}
    rows = (draw.standard_normal((4, 64)) * 0.1).astype(np.float32)
    rows[0, :32] = 0
    rows[1, 0], rows[1, 1] = 0.5 * 127, 127.0
    quantized = quantize(rows, Type.Q8_0)
    found["quantize_Q8_0"] = {"blocks": text(quantized), "values": text(rows)}
    json.dump(found, open(os.path.join(out, "types.json"), "w"))


def tokens():
    """Returns the 256 bytes in the letters of byte-level BPE, two merges, two special tokens, and one that is not
    used."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(others))]
    return [*letters, "he", "hello", "ll", "o\u0120", "<|im_start|>", "<|im_end|>", "<tool>", "[PAD263]"], ["h e", "l l", "o \u0120"]


kinds_of = {
    "llama": {"blk.0.attn_q": Type.Q8_0, "blk.0.attn_k": Type.Q4_1, "blk.0.attn_v": Type.F16, "blk.0.ffn_up": Type.Q5_1, "token_embd": Type.Q8_0},
    "qwen2": {"blk.0.attn_q": Type.Q5_0, "blk.0.ffn_gate": Type.Q4_0, "token_embd": Type.Q5_0, "output": Type.Q8_0},
    "qwen3": {"blk.0.attn_q": Type.BF16, "blk.0.ffn_up": Type.BF16, "blk.0.attn_output": Type.BF16},
}
folder_names = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
heads, kv_heads, head_dim, hidden, inner, layers = 4, 2, 8, 32, 64, 2


def folder_name(name: str) -> str:
    whole = {"token_embd.weight": "model.embed_tokens.weight", "output.weight": "lm_head.weight", "output_norm.weight": "model.norm.weight"}
    if name in whole:
        return whole[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{folder_names[part]}.{kind}"


def shapes(arch: str, vocab: int) -> dict[str, tuple[int, ...]]:
    found = {"token_embd.weight": (vocab, hidden), "output_norm.weight": (hidden,)}
    for layer in range(layers):
        at = f"blk.{layer}."
        found |= {at + "attn_norm.weight": (hidden,), at + "ffn_norm.weight": (hidden,)}
        found |= {at + "attn_q.weight": (heads * head_dim, hidden), at + "attn_k.weight": (kv_heads * head_dim, hidden)}
        found |= {at + "attn_v.weight": (kv_heads * head_dim, hidden), at + "attn_output.weight": (hidden, heads * head_dim)}
        found |= {at + "ffn_gate.weight": (inner, hidden), at + "ffn_up.weight": (inner, hidden), at + "ffn_down.weight": (hidden, inner)}
        if arch == "qwen2":
            found |= {at + "attn_q.bias": (heads * head_dim,), at + "attn_k.bias": (kv_heads * head_dim,), at + "attn_v.bias": (kv_heads * head_dim,)}
        if arch == "qwen3":
            found |= {at + "attn_q_norm.weight": (head_dim,), at + "attn_k_norm.weight": (head_dim,)}
    return found


def write_model(arch: str) -> None:
    writer = GGUFWriter(os.path.join(out, f"{arch}.gguf"), arch)
    words, merges = tokens()
    writer.add_name(f"tiny {arch}")
    writer.add_context_length(128)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_freq_base(100000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_key_length(head_dim)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre({"llama": "smollm", "qwen2": "qwen2", "qwen3": "qwen2"}[arch])
    writer.add_token_list(words)
    writer.add_token_types([1] * (len(words) - 4) + [3, 3, 4, 5])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(words) - 4)
    writer.add_eos_token_id(len(words) - 3)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}")
    sums = {}
    first = {}
    for name, shape in shapes(arch, len(words)).items():
        values = (draw.standard_normal(shape) * 0.1).astype(np.float32)
        kind = kinds_of[arch].get(name.rsplit(".", 1)[0], Type.F32) if len(shape) > 1 else Type.F32
        data = quantize(values, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
        first[name] = values
        sums[folder_name(name)] = sum_of(arch, name, dequantize(data, kind).astype(np.float32).reshape(shape))
    if "output" in kinds_of[arch]:
        # the head of a tied model, written a second time in a finer type: the folder has it once, as the embedding
        data = quantize(first["token_embd.weight"], kinds_of[arch]["output"])
        writer.add_tensor("output.weight", data, raw_dtype=kinds_of[arch]["output"])
        sums["model.embed_tokens.weight"] = sum_of(arch, "output.weight", dequantize(data, kinds_of[arch]["output"]).reshape(len(words), hidden))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    json.dump(sums, open(os.path.join(out, f"{arch}.json"), "w"), indent=1)


def sum_of(arch: str, name: str, values: np.ndarray) -> str:
    part = name.split(".")[2] if name.startswith("blk.") else ""
    if arch == "llama" and part in ("attn_q", "attn_k"):
        num_heads = heads if part == "attn_q" else kv_heads
        values = values.reshape(num_heads, head_dim // 2, 2, -1).swapaxes(1, 2).reshape(values.shape)
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f4").tobytes()).hexdigest()


if __name__ == "__main__":
    write_types()
    for each in kinds_of:
        write_model(each)
    with zipfile.ZipFile(os.path.join(out, "tiny.whl"), "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(zipfile.ZipInfo("tiny/__init__.py"), "raise SystemExit('a wheel is read, not run')\n")
        with open(os.path.join(out, "llama.gguf"), "rb") as model:
            wheel.writestr(zipfile.ZipInfo("tiny/llama.gguf"), model.read(), zipfile.ZIP_DEFLATED)
