"""The PyTorch side of the engine benchmark. It reads one JSON command per line, and writes one JSON answer per line.

It is what a careful user writes in eager PyTorch on the CPU: F.linear, fused scaled-dot-product attention, fused
AdamW,
a static key-value cache, and one prefill pass. It uses float32 and the given number of threads. Legend: B rows, T
tokens, D hidden size.

The commands are {"op": "hello"}, {"op": "train", "config", "rows", "length", "steps"} and {"op": "decode", "config",
"rows", "prompt", "tokens"}.
"""

import json
import math
import sys
import time

import torch
import torch.nn.functional as F


class Decoder(torch.nn.Module):
    """A Qwen2-shaped decoder with tied embeddings. Parameters are normal(0, 0.02), norms one."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        hidden, head = config["hidden_size"], config["head_dim"]
        self.heads, self.key_heads, self.head = config["num_attention_heads"], config["num_key_value_heads"], head
        queries, keys, inner = self.heads * head, self.key_heads * head, config["intermediate_size"]
        self.embedding = torch.nn.Parameter(torch.randn(config["vocab_size"], hidden) * 0.02)
        self.final_norm = torch.nn.Parameter(torch.ones(hidden))
        self.blocks = torch.nn.ModuleList()
        for _ in range(config["num_hidden_layers"]):
            block = torch.nn.ParameterDict()
            for name, out, size in [("q", queries, hidden), ("k", keys, hidden), ("v", keys, hidden), ("o", hidden, queries),
                                    ("gate", inner, hidden), ("up", inner, hidden), ("down", hidden, inner)]:
                block[name] = torch.nn.Parameter(torch.randn(out, size) * 0.02)
            for name, size in [("q_bias", queries), ("k_bias", keys), ("v_bias", keys)]:
                block[name] = torch.nn.Parameter(torch.zeros(size))
            block["norm1"] = torch.nn.Parameter(torch.ones(hidden))
            block["norm2"] = torch.nn.Parameter(torch.ones(hidden))
            self.blocks.append(block)
        positions = torch.arange(config["max_position_embeddings"]).float()[:, None]
        angles = positions / config["rope_theta"] ** (torch.arange(0, head, 2).float() / head)[None]
        self.cos, self.sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)

    def norm(self, x_BTD, weight):
        return F.rms_norm(x_BTD, (x_BTD.shape[-1],), weight, self.config["rms_norm_eps"])

    def project(self, x_BTD, block, name, heads, start):
        y = F.linear(x_BTD, block[name], block[name + "_bias"]).unflatten(-1, (heads, self.head)).transpose(1, 2)
        if name == "v":
            return y
        end = start + x_BTD.shape[1]
        low, high = y.chunk(2, -1)
        return y * self.cos[start:end] + torch.cat([-high, low], -1) * self.sin[start:end]

    def forward(self, ids_BT, attend, start=0):
        """Returns hidden states [B, T, D]. `attend(layer, q, k, v)` is the attention over [B, heads, T, head]."""
        x = F.embedding(ids_BT, self.embedding)
        for layer, block in enumerate(self.blocks):
            h = self.norm(x, block["norm1"])
            q = self.project(h, block, "q", self.heads, start)
            k = self.project(h, block, "k", self.key_heads, start)
            v = self.project(h, block, "v", self.key_heads, start)
            x = x + F.linear(attend(layer, q, k, v).transpose(1, 2).flatten(2), block["o"])
            h = self.norm(x, block["norm2"])
            x = x + F.linear(F.silu(F.linear(h, block["gate"])) * F.linear(h, block["up"]), block["down"])
        return self.norm(x, self.final_norm)


def causal(_layer, q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


class Trainer:
    """Makes one GRPO step: PPO clip on every token, entropy reported, gradients clipped, AdamW."""

    def __init__(self, config):
        self.model = Decoder(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)

    def step(self, ids_BT):
        hidden = self.model(ids_BT, causal)[:, :-1].flatten(0, 1)
        targets, count = ids_BT[:, 1:].flatten(), ids_BT[:, 1:].numel()
        logprobs = F.linear(hidden, self.model.embedding).log_softmax(-1)
        chosen = logprobs.gather(1, targets[:, None])[:, 0]
        ratio = (chosen - (-math.log(logprobs.shape[-1]))).exp()
        loss = -torch.min(ratio, ratio.clamp(0.8, 1.2)).sum() / count
        loss.backward()
        with torch.no_grad():
            entropy = -(logprobs.exp() * logprobs).sum(-1).mean()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item(), entropy.item(), norm.item()


class Cache:
    """A static cache [B, key_heads, S, head] per layer. A new token sees all tokens before it, so no mask is needed.
    Query heads are folded into rows."""

    def __init__(self, model, rows, size):
        shape = (rows, model.key_heads, size, model.head)
        self.keys = [torch.zeros(shape) for _ in model.blocks]
        self.values = [torch.zeros(shape) for _ in model.blocks]
        self.length = 0

    def attend(self, layer, q, k, v):
        end = self.length + q.shape[2]
        self.keys[layer][:, :, self.length:end] = k
        self.values[layer][:, :, self.length:end] = v
        if q.shape[2] > 1:
            return causal(layer, q, k, v)
        keys, values = self.keys[layer][:, :, :end], self.values[layer][:, :, :end]
        folded = q.view(q.shape[0], keys.shape[1], -1, q.shape[3])
        return F.scaled_dot_product_attention(folded, keys, values).view(q.shape)


@torch.inference_mode()
def decode(model, prompts_BT, tokens):
    cache = Cache(model, prompts_BT.shape[0], prompts_BT.shape[1] + tokens)
    ids, out, scores = prompts_BT, [], []
    for _ in range(tokens):
        hidden = model(ids, cache.attend, cache.length)[:, -1]
        cache.length += ids.shape[1]
        logprobs = F.linear(hidden, model.embedding).log_softmax(-1)
        ids = torch.multinomial(logprobs.exp(), 1)
        scores.append(logprobs.gather(1, ids))
        out.append(ids)
    return torch.cat(out, 1).tolist(), torch.cat(scores, 1).tolist()


models = {}


def once(kind, config, create):
    key = (kind, json.dumps(config, sort_keys=True))
    if key not in models:
        models[key] = create(config)
    return models[key]


def answer(command):
    if command["op"] == "hello":
        torch.set_num_threads(command["threads"])
        torch.set_flush_denormal(True)
        return {"torch": torch.__version__, "threads": torch.get_num_threads()}
    config = command["config"]
    if command["op"] == "train":
        trainer = once("train", config, Trainer)
        ids = torch.randint(0, config["vocab_size"], (command["rows"], command["length"]))
        return timed(lambda: [trainer.step(ids) for _ in range(command["steps"])])
    model = once("decode", config, Decoder)
    prompts = torch.randint(0, config["vocab_size"], (command["rows"], command["prompt"]))
    return timed(lambda: decode(model, prompts, command["tokens"]))


def timed(work):
    """Measures wall time, and processor time of all threads."""
    start, cpu_start = time.perf_counter(), time.process_time()
    work()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
