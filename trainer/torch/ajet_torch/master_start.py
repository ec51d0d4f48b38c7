"""Sets the start of the float32 masters: the part of them that the bfloat16 weights do not have.

If that part is 0, a master is in the middle of the values that round to its weight, and updates of less than half a
step of bfloat16 change no weight until many have added up. A float32 file contains the exact position of each master
within that range. A bfloat16 file does not. With random positions, the share of weights that an update changes is
proportional to the size of the update. The bfloat16 weights at the start are the same in all cases, and zeros stay
zeros.
"""

from __future__ import annotations

import logging
import zlib
from pathlib import Path
from typing import Callable

import torch
from safetensors import safe_open

from .config import WorkerConfig
from .errors import WorkerError
from .optimizer import Optimizer, PlainAdamW, RoundedAdamW, SplitAdamW, bits_of, local, random_bits, shard_place

log = logging.getLogger("ajet_torch")
CELL = 0x7FFF
"""The maximum absolute value of the low half of a master. The next value would be a tie, which is rounded to even."""
Read = Callable[[], torch.Tensor]


def start_masters(optimizer: Optimizer, config: WorkerConfig, dtype: torch.dtype) -> None:
    """Sets the masters before the first step of a new run. A resumed run restores its masters from the checkpoint."""
    if config.master_start == "zero":
        return
    if dtype != torch.bfloat16 or config.lora.rank > 0:
        return _say_idle(config, f"the weights are in {str(dtype).removeprefix('torch.')}" if dtype != torch.bfloat16 else "an adapter begins with new weights")
    if isinstance(optimizer, RoundedAdamW):
        if config.master_start == "auto":
            return
        raise WorkerError("bad_request", f"master_start is {config.master_start!r}, but master_weights 'bfloat16' keeps no masters. Set torch.master_start to 'zero', or torch.master_weights to 'float32'.")
    stored = read_float32(Path(config.model_dir))
    draws = config.master_start == "dithered" and not stored
    if config.master_start == "file" and not stored:
        _say_idle(config, "the model has no weights in float32")
    if isinstance(optimizer, SplitAdamW):
        _start_halves(optimizer, stored, config.seed, draws)
    elif isinstance(optimizer, PlainAdamW) and draws:  # sharded masters already have the values of the file
        for name, parameter in optimizer.parameters.items():
            own = optimizer.own[name]
            own.copy_(own + 0 if own.numel() == 0 else _dithered(own, name, config.seed, _first_element(parameter)))


def _say_idle(config: WorkerConfig, why: str) -> None:
    """Says that a start that somebody chose has no effect."""
    if config.master_start != "auto":
        log.info("torch.master_start %r has no effect, because %s.", config.master_start, why)


def _start_halves(optimizer: SplitAdamW, stored: dict[str, Read], seed: int, draws: bool) -> None:
    unknown = []
    for name, parameter in optimizer.parameters.items():
        low = optimizer.low[name]
        if draws:
            low.copy_(draw_low(parameter.data, salt_of(name, seed), 0))
        elif name in stored:
            low.copy_(low_of(parameter.data, stored[name]().to(low.device)))
        elif stored:
            unknown.append(name)
    if unknown:
        log.info("The file has %d of the trained tensors under other names, such as %s. The masters of these tensors begin with their bfloat16 weights.", len(unknown), unknown[0])


def low_of(high: torch.Tensor, master: torch.Tensor) -> torch.Tensor:
    """Returns int16, the bits of float32 values beyond those of their nearest bfloat16 values."""
    difference = bits_of(master) - (high.view(torch.int16).to(torch.int32) << 16)
    return difference.clamp(-CELL, CELL).to(torch.int16)


def draw_low(high: torch.Tensor, salt: int, first: int) -> torch.Tensor:
    """Returns int16, drawn uniformly from the values that round to each weight. `first` is the index of the first
    element in the whole tensor."""
    drawn = random_bits(high.numel(), torch.tensor(salt, device=high.device), first).reshape(high.shape) - CELL - 1
    is_fixed = (high == 0) | ~torch.isfinite(high)
    return drawn.clamp(min=-CELL).masked_fill(is_fixed, 0).to(torch.int16)


def _dithered(own: torch.Tensor, name: str, seed: int, first: int) -> torch.Tensor:
    """Returns float32 masters that hold bfloat16 values."""
    low = draw_low(own.bfloat16(), salt_of(name, seed), first)
    return (own.view(torch.int32) + low.to(torch.int32)).view(torch.float32)


def salt_of(name: str, seed: int) -> int:
    """Returns a seed that is the same in each process that holds a part of the parameter."""
    return zlib.crc32(f"{seed} {name}".encode()) & 0x7FFFFFFF


def _first_element(parameter: torch.Tensor) -> int:
    """Returns the index, in the whole tensor, of the first element of this process. FSDP2 cuts along the first
    dimension, as torch.chunk does."""
    index, count = shard_place(parameter)
    rows = -(-parameter.shape[0] // count) if parameter.ndim else 0
    return min(parameter.shape[0], index * rows) * (parameter[0].numel() if parameter.ndim > 1 else 1) if count > 1 else 0


def read_float32(folder: Path) -> dict[str, Read]:
    """Returns how to read each tensor that the folder holds in float32."""
    found: dict[str, Read] = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as reader:
            found.update({name: _reader(file, name) for name in reader.keys() if reader.get_slice(name).get_dtype() == "F32"})
    return found


def _reader(file: Path, name: str) -> Read:
    def read() -> torch.Tensor:
        with safe_open(file, "pt") as reader:
            return reader.get_tensor(name)

    return read
