"""Tree and causal attention through FlashAttention 4 (package flash-attn-4, optional), the fastest on Hopper and later.

It has the same layout and the same block map as FlexAttention, with another kernel. If the package is not installed,
`is_available` is false and nothing else in this module is used.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from dataclasses import dataclass
from functools import cache
from typing import Any, Callable

import torch
from torch import nn

NEEDED = ("flash_attn.cute.interface", "flash_attn.cute.block_sparsity", "cutlass.cute")

log = logging.getLogger("ajet_torch")


@cache
def is_available() -> bool:
    """Returns whether the package has kernels for the GPU (compute capability 9 or 10), and can be imported with its
    dependencies."""
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] not in (9, 10):
        return False
    if importlib.util.find_spec("flash_attn") is None or importlib.util.find_spec("flash_attn.cute") is None:
        return False
    try:
        for name in NEEDED:
            importlib.import_module(name)
    except Exception as error:
        log.warning("flash-attn-4 is installed but cannot be imported (%s: %s). Other attention kernels are used. Install it again: pip install flash-attn-4", type(error).__name__, error)
        return False
    return True


@cache
def _tree_mask() -> Callable[..., Any]:
    """visible(q, k) iff k <= q < ends[k], for the partial blocks."""
    import cutlass
    import cutlass.cute as cute
    from flash_attn.cute import utils

    @cute.jit
    def tree_mask(batch, head, q, k, seqlen_info, aux_tensors):  # type: ignore[no-untyped-def]
        end = utils.scalar_to_ssa(aux_tensors[0][k[0]], cutlass.Int32)
        return (k <= q) & (q < end)

    return tree_mask


def _sparsity(tables: list[torch.Tensor]) -> Any:
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch

    return BlockSparseTensorsTorch(*tables, block_size=(128, 128))


def _masking(tables: list[torch.Tensor], backward: bool) -> dict[str, Any]:
    if not tables:
        return {"causal": True}
    chosen = tables[5:9] if backward else tables[1:5]
    return {"causal": False, "mask_mod": _tree_mask(), "aux_tensors": [tables[0]], "block_sparse_tensors": _sparsity(chosen)}


@torch.library.custom_op("ajet::flash4", mutates_args=())
def flash4(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, tables: list[torch.Tensor], scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """q [1, N, H, D], k and v [1, N, Hkv, D]; `tables` are those of FlashPlan, or none for plain causal attention.
    Returns out and log-sum-exp [1, H, N]."""
    from flash_attn.cute.interface import _flash_attn_fwd

    return tuple(_flash_attn_fwd(q, k, v, softmax_scale=scale, return_lse=True, **_masking(tables, False))[:2])  # type: ignore[return-value]


@flash4.register_fake
def _(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, tables: list[torch.Tensor], scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(q, memory_format=torch.contiguous_format), q.new_empty(q.shape[0], q.shape[2], q.shape[1], dtype=torch.float32)


@torch.library.custom_op("ajet::flash4_backward", mutates_args=())
def flash4_backward(grad: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, tables: list[torch.Tensor], scale: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    from flash_attn.cute.interface import _flash_attn_bwd

    return tuple(_flash_attn_bwd(q, k, v, out, grad, lse, scale, **_masking(tables, True))[:3])  # type: ignore[return-value]


@flash4_backward.register_fake
def _(grad: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, tables: list[torch.Tensor], scale: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q_grad, k_grad, v_grad = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    return q_grad, k_grad, v_grad


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    q, k, v, tables, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, *output, *tables)


def _differentiate(ctx: Any, grad_out: torch.Tensor, _grad_lse: torch.Tensor) -> tuple[Any, ...]:
    q, k, v, out, lse, *tables = ctx.saved_tensors
    return (*torch.ops.ajet.flash4_backward(grad_out.contiguous(), q, k, v, out, lse, tables, ctx.scale), [None] * len(tables), None)


flash4.register_autograd(_differentiate, setup_context=_save)


@dataclass(frozen=True)
class FlashPlan:
    """`tables` are ends, then partial and full blocks (count and index each) by query block, then the same by key
    block; [] is causal."""

    tables: list[torch.Tensor]

    def attend(self, layer: nn.Module | None, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        out, _ = torch.ops.ajet.flash4(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), self.tables, scale)
        return out.transpose(1, 2)
