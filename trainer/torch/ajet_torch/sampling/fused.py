"""Computes one decoding step of a Qwen2, Qwen3, Llama or Mistral model with a few Triton kernels a layer, captured as a
CUDA graph.

The step reads the trained weights in place. Its rows are the answers in progress, not the slots of the cache. One small
transfer brings all values that change from step to step. Drawn tokens stay on the device for the next step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel

from ..fused_layers import has_plain_linears
from ..lora import has_adapter, product_
from ..model import decoder_layers, smallest_window
from .fused_fill import FusedFill, gated_
from .groups import Group
from .prefill import Fill
from .slots import SlotCache
from .steps import Flight, StepRows, capture
from .tiles import TILE, Tile, power_of_two, tiles_of

FAMILIES = ("Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM")
ROTATIONS = ("default", "linear", "llama3", "yarn")
"""The rotary kinds whose angles depend only on the position."""
SMALL_PIECE, LARGE_PIECE = 256, 512
"""The number of tokens of attention that one program reads. Small pieces keep many programs busy early in an answer.
Large pieces leave fewer partial results to add later (19 against 24 us)."""
VOCAB_BLOCK = 4096
BUFFERS = 4
"""The number of page-locked buffers for steps in progress."""


def fits(lm: PreTrainedModel, context_length: int) -> bool:
    """Returns whether the kernels compute what this model computes."""
    config = lm.config
    if type(lm).__name__ not in FAMILIES or getattr(config, "hidden_act", None) != "silu":
        return False
    window = smallest_window(config)
    if (window is not None and window < context_length) or (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default") not in ROTATIONS:
        return False
    if type(lm.get_input_embeddings()) is not nn.Embedding or type(lm.get_output_embeddings()) is not nn.Linear:  # with an adapter
        return False
    return all(_can_cut(layer) for layer in decoder_layers(lm)) and lm.dtype in (torch.bfloat16, torch.float16, torch.float32)


def _can_cut(layer: Any) -> bool:
    """Returns whether the kernels can compute the layer and cut its matrices."""
    attention, mlp = layer.self_attn, layer.mlp
    linears = [attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj, mlp.gate_proj, mlp.up_proj, mlp.down_proj]
    return has_plain_linears(layer, adapted=True) and attention.head_dim >= 16 and all(size % 16 == 0 for linear in linears for size in linear.weight.shape)


@dataclass(frozen=True)
class Shape:
    """The shape of a captured step. `rows` includes padding. `groups` and `members` count the groups that share
    attention, and their rows. A row has at most `shared` and `own` pieces of `piece` tokens each."""

    rows: int
    groups: int
    members: int
    shared: int
    own: int
    piece: int

    @property
    def parts(self) -> int:
        return self.shared + self.own


def padded_rows(count: int) -> int:
    """Rounds up to 16 or to a multiple of TILE."""
    return 16 if count <= 16 else -(-count // TILE) * TILE


def grown(number: int, least: int = 1) -> int:
    """Returns `least` times the smallest sufficient power of four. Such coarse steps make few shapes, each of which
    must be captured. They start programs without work, but these end at once."""
    while least < number:
        least *= 4
    return least


def choose_shape(rows: StepRows, repeat: int) -> tuple[Shape, list[Group]]:
    """Returns the shape, and splits groups that have more rows than one piece takes."""
    members = max(1, TILE // repeat)
    groups = [Group(group.slots[i : i + members], group.length) for group in rows.groups for i in range(0, len(group.slots), members)]
    shared = max((group.length for group in groups), default=0)
    longest = int((rows.positions + 1 - rows.own_starts()).max())
    piece = SMALL_PIECE if longest <= SMALL_PIECE else LARGE_PIECE
    return Shape(
        rows=padded_rows(len(rows.slots)), groups=grown(len(groups), 8) if groups else 0, members=members,
        shared=grown(-(-shared // piece), 4) if groups else 0, own=grown(-(-longest // piece)), piece=piece,
    ), groups


class Workspace:
    """The memory that the captured steps share. It holds the largest tensor of each name so far, and the tensors that
    older steps still write to."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.made: dict[str, torch.Tensor] = {}

    def take(self, name: str, dtype: torch.dtype, *sizes: int) -> torch.Tensor:
        number = math.prod(sizes)
        if name not in self.made or self.made[name].numel() < number:
            self.made[name] = torch.empty(number, dtype=dtype, device=self.device)
        return self.made[name][:number].view(sizes)


class FusedSteps:
    """Makes decoding steps over a SlotCache, and fills the cache with prompts."""

    longest_fed = 1

    def __init__(self, lm: PreTrainedModel, cache: SlotCache, context_length: int, device: torch.device, graphs: bool) -> None:
        self.lm, self.cache, self.device = lm, cache, device
        config = lm.config
        attention = decoder_layers(lm)[0].self_attn
        self.head_dim, self.heads = attention.head_dim, config.num_attention_heads
        self.kv_heads = config.num_key_value_heads
        self.scale = attention.scaling
        self.adapted = any(has_adapter(module) for module in lm.modules())
        self.last = torch.zeros(cache.num_slots, dtype=torch.int32, device=device)
        self.cosines, self.sines = _angles(lm, context_length, device)
        self.steps: dict[Shape, CapturedStep] = {}
        self.workspace = Workspace(device)
        self.graphs = graphs
        self.pool: Any = None
        cache.hold_together(len(decoder_layers(lm)), torch.empty(1, self.kv_heads, 1, self.head_dim, dtype=lm.dtype, device=device))
        self.prompts = FusedFill(self)

    def fill(self, fills: list[Fill]) -> None:
        self.prompts.run(fills)

    def launch(self, rows: StepRows) -> Flight:
        shape, groups = choose_shape(rows, self.heads // self.kv_heads)
        if shape not in self.steps:
            self.steps[shape] = CapturedStep(self, shape)
        return self.steps[shape].launch(rows, groups)

    def rotate(self, attention: Any, index: int, parts: torch.Tensor, num_parts: int, slots: torch.Tensor, positions: torch.Tensor, q: torch.Tensor) -> None:
        """Writes the queries of projected rows to `q`, and their keys and values to the cache of layer `index`."""
        from .decode_kernels import rotate_kernel

        keys, values = self.cache.layers[index]
        projections = [attention.q_proj, attention.k_proj, attention.v_proj]
        norms = [attention.q_norm, attention.k_norm] if hasattr(attention, "q_norm") else []
        biases = [p.bias if p.bias is not None else p.weight for p in projections]
        gains = [norm.weight for norm in norms] or [attention.q_proj.weight] * 2
        columns = sum(p.weight.shape[0] for p in projections)
        rotate_kernel[(len(slots), self.heads + 2 * self.kv_heads)](
            parts, *biases, *gains, self.cosines, self.sines, slots, positions, q, keys, values, len(slots), columns, keys.stride(0), keys.stride(1),
            norms[0].variance_epsilon if norms else 0.0, H=self.heads, G=self.kv_heads, D=self.head_dim, PARTS=num_parts,
            BIAS=attention.q_proj.bias is not None, NORM=bool(norms), num_warps=1,
        )

    def capture(self, run: Callable[[], None]) -> Any:
        """Captures what `run` launches as a CUDA graph. All graphs share their memory."""
        graph, _ = capture(run, self.pool)
        self.pool = graph.pool()
        return graph

    def close(self) -> None:
        self.steps.clear()
        self.prompts.passes.clear()


def _angles(lm: PreTrainedModel, context_length: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns cosines and sines, [S, D / 2] each. Both halves of a head turn by the same angles."""
    like = torch.zeros(1, 1, dtype=lm.dtype, device=device)
    with torch.no_grad():
        cosines, sines = lm.base_model.rotary_emb(like, torch.arange(context_length, device=device)[None])
    half = cosines.shape[-1] // 2
    return cosines[0, :, :half].contiguous(), sines[0, :, :half].contiguous()


@dataclass
class Buffers:
    """The tensors that the kernels of one shape pass to each other."""

    residual: torch.Tensor
    normed: torch.Tensor
    parts: torch.Tensor
    q: torch.Tensor
    pieces: torch.Tensor
    lse: torch.Tensor
    merged: torch.Tensor
    inner: torch.Tensor
    up: torch.Tensor
    logits: torch.Tensor
    peaks: torch.Tensor
    sums: torch.Tensor
    places: torch.Tensor
    tokens: torch.Tensor
    drawn: torch.Tensor


class CapturedStep:
    """The step of one shape. `table` is int32 and holds all values from the host. For each row it has the slot, the
    position, the forced token, the first token that no other row shares, and the bits of the temperature and the drawn
    number. For each group it has the source slot, the length and the member rows."""

    def __init__(self, owner: FusedSteps, shape: Shape) -> None:
        from . import decode_kernels

        self.owner, self.shape, self.kernels = owner, shape, decode_kernels
        self.precision = "ieee" if owner.lm.dtype == torch.float32 else "tf32"
        device, rows, groups = owner.device, shape.rows, shape.groups
        self.table = torch.zeros(6 * rows + groups * (2 + shape.members), dtype=torch.int32, device=device)
        self.slots, self.positions, self.forced, self.owns = (self.table[i * rows : (i + 1) * rows] for i in range(4))
        self.controls = self.table[4 * rows : 6 * rows].view(torch.float32)
        rest = self.table[6 * rows :]
        self.slots.fill_(-1)
        rest.fill_(-1)
        self.sources, self.lengths, self.members = rest[:groups], rest[groups : 2 * groups], rest[2 * groups :]
        self.tiles = tiles_of(owner.lm, rows)
        self.adapted = owner.adapted
        if self.adapted:  # cuBLAS computes the products
            self.tiles = {name: replace(tile, parts=1) for name, tile in self.tiles.items()}
        self.buffers = self._allocate()
        pinned = device.type == "cuda"
        self.staged = [torch.empty_like(self.table, device="cpu", pin_memory=pinned) for _ in range(BUFFERS)]
        self.taken = [torch.empty(2, rows, dtype=torch.int32, pin_memory=pinned) for _ in range(BUFFERS)]
        self.turn = 0
        self.graph: Any = None
        if owner.graphs:
            self.graph = owner.capture(self._run)

    def _allocate(self) -> Buffers:
        owner, rows, shape = self.owner, self.shape.rows, self.shape
        config, kind = owner.lm.config, owner.lm.dtype
        hidden, vocab = config.hidden_size, owner.lm.get_output_embeddings().weight.shape[0]
        blocks = -(-vocab // VOCAB_BLOCK)
        heads, size, pieces = owner.heads, owner.head_dim, rows * owner.heads * shape.parts
        widest = max(self.tiles["qkv"].parts * (heads + 2 * owner.kv_heads) * size, self.tiles["out"].parts * hidden, self.tiles["down"].parts * hidden)
        take, wide, whole = owner.workspace.take, torch.float32, torch.int32
        products = kind if self.adapted else wide
        return Buffers(
            residual=take("residual", kind, rows, hidden), normed=take("normed", kind, rows, hidden), parts=take("parts", products, rows * widest),
            q=take("q", kind, rows, heads, size), pieces=take("pieces", wide, pieces * size), lse=take("lse", wide, pieces), merged=take("merged", kind, rows, heads * size),
            inner=take("inner", kind, rows, config.intermediate_size),
            up=take("up", kind, rows if self.adapted else 0, config.intermediate_size), logits=take("logits", kind, rows, vocab), peaks=take("peaks", wide, rows, blocks),
            sums=take("sums", wide, rows, blocks), places=take("places", whole, rows, blocks), tokens=take("tokens", whole, rows), drawn=take("drawn", whole, 2, rows),
        )

    def launch(self, rows: StepRows, groups: list[Group]) -> Flight:
        """Queues the step without waiting for the device."""
        turn = self.turn = (self.turn + 1) % BUFFERS
        self._fill(self.staged[turn].numpy(), rows, groups)
        self.table.copy_(self.staged[turn], non_blocking=True)
        if self.graph is not None:
            self.graph.replay()
        else:
            self._run()
        if rows.truncates():
            self._choose_truncated(rows)
        self.taken[turn].copy_(self.buffers.drawn, non_blocking=True)
        return Flight(self.taken[turn], len(rows.slots), self.owner.device)

    def _fill(self, table: np.ndarray, rows: StepRows, groups: list[Group]) -> None:
        count, size = len(rows.slots), self.shape.rows
        table[:] = -1
        fields = table[: 4 * size].reshape(4, size)
        fields[1:, count:] = 0
        fields[:, :count] = rows.slots, rows.positions, rows.forced, rows.own_starts()
        controls = table[4 * size : 6 * size].view(np.float32).reshape(size, 2)
        controls[:] = (0.0, 0.5)
        controls[:count] = np.stack([rows.temperatures, rows.draws], 1)
        row_of = {int(slot): row for row, slot in enumerate(rows.slots)}
        sources, lengths, members = np.split(table[6 * size :], [self.shape.groups, 2 * self.shape.groups])
        for index, group in enumerate(groups):
            sources[index], lengths[index] = group.slots[0], group.length
            members[index * self.shape.members :][: len(group.slots)] = [row_of[slot] for slot in group.slots]

    def _choose_truncated(self, rows: StepRows) -> None:
        """Draws with top-k and top-p, which need the whole order of the logits."""
        ids, logprobs = rows.choose(self.buffers.logits[: len(rows.slots)])
        self.buffers.drawn[0, : len(ids)] = ids.to(torch.int32)
        self.buffers.drawn[1, : len(ids)] = logprobs.float().view(torch.int32)
        self.owner.last[self.slots[: len(ids)].long()] = ids.to(torch.int32)

    @torch.no_grad()
    def _run(self) -> None:
        owner, at, kernels = self.owner, self.buffers, self.kernels
        lm, rows = owner.lm, self.shape.rows
        hidden = lm.config.hidden_size
        embedding = lm.get_input_embeddings().weight
        kernels.embed_kernel[(rows,)](at.tokens, self.slots, self.forced, owner.last, embedding, at.residual, hidden, BLOCK=power_of_two(hidden))
        num_parts = 0
        for index, layer in enumerate(decoder_layers(lm)):
            self._norm(layer.input_layernorm, num_parts)
            self._attend(layer.self_attn, index)
            self._norm(layer.post_attention_layernorm, self.tiles["out"].parts)
            self._feed_forward(layer.mlp)
            num_parts = self.tiles["down"].parts
        self._norm(lm.base_model.norm, num_parts)
        torch.mm(at.normed, lm.get_output_embeddings().weight.T, out=at.logits)
        self._draw()

    def _norm(self, norm: Any, num_parts: int) -> None:
        at, hidden = self.buffers, self.owner.lm.config.hidden_size
        self.kernels.add_norm_kernel[(self.shape.rows,)](
            at.residual, at.parts, norm.weight, at.normed, self.shape.rows, hidden, norm.variance_epsilon, PARTS=num_parts, BLOCK=power_of_two(hidden), num_warps=8,
        )

    def _product(self, x: torch.Tensor, linears: list[Any], tile: Tile) -> None:
        """Computes the product with up to three adjacent matrices into `parts`."""
        rows, depth = x.shape
        matrices = [linear.weight for linear in linears]
        if self.adapted:
            columns = sum(map(len, matrices))
            for linear, out in zip(linears, self.buffers.parts[: rows * columns].view(rows, columns).split([len(matrix) for matrix in matrices], 1)):
                product_(linear, x, out)
            return
        first, second, third = (matrices * 3)[:3] if len(matrices) == 1 else matrices
        sizes = [matrix.shape[0] for matrix in matrices]
        columns = sum(sizes)
        ends = (columns, columns) if len(sizes) == 1 else (sizes[0], sizes[0] + sizes[1])
        part = -(-depth // (tile.parts * tile.depth)) * tile.depth
        block = min(TILE, rows)
        self.kernels.product_kernel[(columns // tile.columns, rows // block, tile.parts)](
            x, first, second, third, self.buffers.parts, rows, depth, *ends, columns, part,
            BM=block, BN=tile.columns, BK=tile.depth, EVEN=depth % tile.depth == 0, PRECISION=self.precision, num_warps=tile.warps, num_stages=tile.stages,
        )

    def _attend(self, attention: Any, index: int) -> None:
        owner, at, shape = self.owner, self.buffers, self.shape
        self._product(at.normed, [attention.q_proj, attention.k_proj, attention.v_proj], self.tiles["qkv"])
        owner.rotate(attention, index, at.parts, self.tiles["qkv"].parts, self.slots, self.positions, at.q)
        keys, values = owner.cache.layers[index]
        strides = (keys.stride(0), keys.stride(1))
        shared_tasks = shape.groups * shape.shared
        sizes = {"H": owner.heads, "D": owner.head_dim, "PIECE": shape.piece}
        self.kernels.attention_kernel[(shared_tasks + shape.rows * shape.own, owner.kv_heads)](
            at.q, keys, values, at.pieces, at.lse, self.slots, self.positions, self.owns, self.sources, self.lengths, self.members, owner.scale, *strides,
            shared_tasks, shape.shared, shape.own, shape.parts, **sizes, G=owner.kv_heads, MEMBERS=shape.members, BM=TILE, BN=64,
            PRECISION=self.precision, num_warps=4, num_stages=3,
        )
        self.kernels.merge_kernel[(shape.rows, owner.heads)](
            at.pieces, at.lse, self.positions, self.owns, self.slots, at.merged, shape.shared, shape.parts, **sizes, PARTS=power_of_two(shape.parts), num_warps=2,
        )
        self._product(at.merged, [attention.o_proj], self.tiles["out"])

    def _feed_forward(self, mlp: Any) -> None:
        at, tile = self.buffers, self.tiles["gate"]
        rows, depth = at.normed.shape
        block, columns = min(TILE, rows), at.inner.shape[1]
        if self.adapted:
            gated_(mlp, at.normed, at.inner, at.up)
        else:
            self.kernels.gated_kernel[(columns // tile.columns, rows // block)](
                at.normed, mlp.gate_proj.weight, mlp.up_proj.weight, at.inner, depth, columns, BM=block, BN=tile.columns, BK=tile.depth,
                EVEN=depth % tile.depth == 0, PRECISION=self.precision, num_warps=tile.warps, num_stages=tile.stages,
            )
        self._product(at.inner, [mlp.down_proj], self.tiles["down"])

    def _draw(self) -> None:
        at, rows = self.buffers, self.shape.rows
        vocab, blocks = at.logits.shape[1], at.peaks.shape[1]
        self.kernels.peaks_kernel[(rows, blocks)](at.logits, self.controls, at.peaks, at.sums, at.places, vocab, blocks, BLOCK=VOCAB_BLOCK)
        self.kernels.draw_kernel[(rows,)](
            at.logits, self.controls, at.peaks, at.sums, at.places, self.slots, self.owner.last, at.drawn[0], at.drawn[1].view(torch.float32), vocab, blocks,
            BLOCK=VOCAB_BLOCK, BLOCKS=power_of_two(blocks),
        )
