"""Computes the gradients' norm and the AdamW of SplitAdamW over all tensors, in one launch each. The Triton kernels
find tensors by address.

A tensor is cut into blocks. `owner` [blocks] is the tensor of each block, `first` [T] the block at which a tensor
begins, `sizes` [T] its length, and `table` [T, 5] the addresses of its high and low halves, its moments and its
gradient. `TRITON_INTERPRET=1` runs all of this on a CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import triton
import triton.language as tl

UPDATE_BLOCK, UPDATE_WARPS = 1024, 4
NORM_BLOCK, NORM_WARPS = 8192, 8
ALIGNED = 16
"""The kernels read whole vectors only if addresses are multiples of this many bytes, and sizes are multiples of this
many elements."""


@triton.jit
def _place(owner, first, sizes, BLOCK: tl.constexpr, ALIGNMENT: tl.constexpr):
    block = tl.program_id(0)
    tensor = tl.load(owner + block)
    start = (block - tl.load(first + tensor)).to(tl.int64) * BLOCK
    left = tl.multiple_of(tl.load(sizes + tensor), ALIGNMENT) - start
    return tensor, start, tl.multiple_of(left, ALIGNMENT)


@triton.jit
def squares_kernel(table, owner, first, sizes, partial, KIND: tl.constexpr, BLOCK: tl.constexpr, ALIGNMENT: tl.constexpr):
    """Sums the squares of each block of the gradients."""
    tensor, start, left = _place(owner, first, sizes, BLOCK, ALIGNMENT)
    gradient_at = tl.multiple_of(tl.load(table + tensor * 5 + 4).to(tl.pointer_type(KIND)) + start, ALIGNMENT)
    at = tl.arange(0, BLOCK)
    gradient = tl.load(gradient_at + at, mask=at < left, other=0.0).to(tl.float32)
    tl.store(partial + tl.program_id(0), tl.sum(gradient * gradient, 0))


@triton.jit
def update_kernel(table, owner, first, sizes, scalars, KIND: tl.constexpr, BLOCK: tl.constexpr, ALIGNMENT: tl.constexpr):
    """Does what `_split_update` of optimizer.py does. It has no effect if the scale of the gradients is 0."""
    scale = tl.load(scalars)
    rate, decay = tl.load(scalars + 1), tl.load(scalars + 2)
    beta1, beta2 = tl.load(scalars + 3), tl.load(scalars + 4)
    correction1, correction2, epsilon = tl.load(scalars + 5), tl.load(scalars + 6), tl.load(scalars + 7)
    tensor, start, left = _place(owner, first, sizes, BLOCK, ALIGNMENT)
    row = table + tensor * 5
    high_at = tl.multiple_of(tl.load(row).to(tl.pointer_type(tl.int16)) + start, ALIGNMENT)
    low_at = tl.multiple_of(tl.load(row + 1).to(tl.pointer_type(tl.int16)) + start, ALIGNMENT)
    mean_at = tl.multiple_of(tl.load(row + 2).to(tl.pointer_type(tl.float32)) + start, ALIGNMENT)
    square_at = tl.multiple_of(tl.load(row + 3).to(tl.pointer_type(tl.float32)) + start, ALIGNMENT)
    gradient_at = tl.multiple_of(tl.load(row + 4).to(tl.pointer_type(KIND)) + start, ALIGNMENT)
    at = tl.arange(0, BLOCK)
    inside = at < tl.multiple_of(tl.where(scale > 0, left, 0), ALIGNMENT)
    gradient = tl.load(gradient_at + at, mask=inside, other=0.0).to(tl.float32) * scale
    mean = tl.load(mean_at + at, mask=inside, other=0.0)
    square = tl.load(square_at + at, mask=inside, other=0.0)
    high = tl.load(high_at + at, mask=inside, other=0).to(tl.int32)
    low = tl.load(low_at + at, mask=inside, other=0).to(tl.int32)
    mean = mean + (gradient - mean) * (1 - beta1)
    square = square * beta2 + gradient * gradient * (1 - beta2)
    old = ((high << 16) + low).to(tl.float32, bitcast=True)
    master = old * (1 - rate * decay) - rate / correction1 * mean / (tl.sqrt(square / correction2) + epsilon)
    bits = tl.where(master == master, master.to(tl.int32, bitcast=True), 0x7FC00000)
    rounded = (bits + 0x8000) >> 16
    tl.store(mean_at + at, mean, mask=inside)
    tl.store(square_at + at, square, mask=inside)
    tl.store(high_at + at, rounded.to(tl.int16), mask=inside)
    tl.store(low_at + at, (bits - (rounded << 16)).to(tl.int16), mask=inside)


@dataclass(frozen=True)
class BlockMap:
    """The kernels' arrays for tensors of these sizes, cut into blocks of one size."""

    owner: torch.Tensor
    first: torch.Tensor
    sizes: torch.Tensor


def block_map(sizes: list[int], block: int, device: torch.device) -> BlockMap:
    counts = -(-np.asarray(sizes, np.int64) // block)
    owner = np.repeat(np.arange(len(sizes), dtype=np.int32), counts)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    return BlockMap(*(torch.from_numpy(each).to(device) for each in (owner, first, np.asarray(sizes, np.int64))))


class JointUpdate:
    """The norm and update of tensors that stay in place. Gradients may be elsewhere in each step."""

    def __init__(self, high: list[torch.Tensor], low: list[torch.Tensor], mean: list[torch.Tensor], square: list[torch.Tensor]) -> None:
        self.states = [high, low, mean, square]
        self.device = high[0].device
        sizes = [each.numel() for each in high]
        self.alignment = ALIGNED if all(size % ALIGNED == 0 for size in sizes) else 1
        self.norm_map, self.update_map = (block_map(sizes, block, self.device) for block in (NORM_BLOCK, UPDATE_BLOCK))
        self.partial = torch.empty(len(self.norm_map.owner), device=self.device)
        self.num_updates = 0

    def place(self, gradients: list[torch.Tensor]) -> torch.Tensor | None:
        """Returns the addresses of all, or None if a gradient is missing, or if a tensor is not laid out as the kernels
        read it."""
        tensors = [*self.states, gradients]
        if len(gradients) != len(self.states[0]) or {gradient.dtype for gradient in gradients} not in ({torch.bfloat16}, {torch.float32}):
            return None
        if not all(tensor.is_contiguous() for kind in tensors for tensor in kind):
            return None
        table = torch.tensor([[tensor.data_ptr() for tensor in kind] for kind in tensors], dtype=torch.int64)
        if (table % ALIGNED).any():
            return None
        table = table.T.contiguous()
        return (table.pin_memory() if self.device.type == "cuda" else table).to(self.device, non_blocking=True)

    def norm(self, table: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
        blocks = self.norm_map
        squares_kernel[(len(blocks.owner),)](table, blocks.owner, blocks.first, blocks.sizes, self.partial, _triton_type(kind), NORM_BLOCK, self.alignment, num_warps=NORM_WARPS)
        return self.partial.sum().sqrt()

    def update(self, table: torch.Tensor, kind: torch.dtype, scalars: torch.Tensor) -> None:
        self.num_updates += 1
        blocks = self.update_map
        update_kernel[(len(blocks.owner),)](table, blocks.owner, blocks.first, blocks.sizes, scalars, _triton_type(kind), UPDATE_BLOCK, self.alignment, num_warps=UPDATE_WARPS)


def _triton_type(kind: torch.dtype) -> tl.constexpr:
    return tl.bfloat16 if kind == torch.bfloat16 else tl.float32
