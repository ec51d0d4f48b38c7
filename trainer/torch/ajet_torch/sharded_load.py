"""Shards a model before it has weights, so that no process ever holds all of them.

If every process loaded the whole model before sharding it, a machine would need memory for one float32 copy per GPU,
each of 131 GB at 32B parameters. Here the model is created without memory and sharded, and then every process reads its
own rows from the files.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import AutoModelForCausalLM, PreTrainedModel

from .attention import ATTENTION_NAME
from .errors import WorkerError, first_line
from .generation_config import repair_generation_config
from .model import check_class, load_model_config, prepare_lm
from .optimizer import local, shard_place

Rows = Callable[[str, int, int], torch.Tensor]
"""A function of a name, a start and a stop. It reads rows [start, stop) of the tensor with this name."""


def empty_lm(model_dir: str, dtype: torch.dtype) -> PreTrainedModel:
    """Makes the model of a folder without memory for its weights."""
    config = load_model_config(model_dir)
    check_class(config)
    lm = make_empty(lambda: AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=ATTENTION_NAME))
    repair_generation_config(lm, model_dir)
    return lm


def make_empty(make: Callable[[], PreTrainedModel]) -> PreTrainedModel:
    with torch.device("meta"):
        lm = make()
    lm.tie_weights()
    return prepare_lm(lm, torch.device("meta"))


def find_files(model_dir: str, lm: PreTrainedModel) -> dict[str, Path] | None:
    """Returns the file of each parameter. Returns None if a parameter has another name in the files, for example
    because it was fused or renamed."""
    folder = Path(model_dir)
    index = folder / "model.safetensors.index.json"
    try:
        if index.is_file():
            where = {name: folder / file for name, file in json.loads(index.read_text("utf-8"))["weight_map"].items()}
        else:
            with safe_open(folder / "model.safetensors", "pt") as reader:
                where = dict.fromkeys(reader.keys(), folder / "model.safetensors")
    except (OSError, ValueError, KeyError, SafetensorError):
        return None
    names = [name for name, _ in lm.named_parameters()]
    return {name: where[name] for name in names} if all(name in where for name in names) else None


def fill(module: nn.Module, lm: PreTrainedModel, device: torch.device, rows: Rows) -> None:
    """Allocates memory for the sharded `module` around `lm`, and reads this process's rows of every parameter."""
    module.to_empty(device=device)
    for parent, name in rotary_embeddings(lm):
        setattr(parent, name, type(getattr(parent, name))(config=lm.config).to(device))
    with torch.no_grad():
        for name, parameter in lm.named_parameters():
            start, stop = own_rows(parameter)
            if start < stop:
                local(parameter.data).copy_(rows(name, start, stop))


def rotary_embeddings(lm: PreTrainedModel) -> list[tuple[nn.Module, str]]:
    """Returns modules whose buffers follow from the configuration: the parent and the name of each."""
    return [(parent, name) for parent in lm.modules() for name, child in parent.named_children() if type(child).__name__.endswith("RotaryEmbedding")]


def can_fill(lm: PreTrainedModel) -> bool:
    """Returns whether all buffers can be recomputed from the configuration."""
    known = {id(buffer) for parent, name in rotary_embeddings(lm) for buffer in getattr(parent, name).buffers()}
    return all(id(buffer) in known for buffer in lm.buffers())


def own_rows(parameter: torch.Tensor) -> tuple[int, int]:
    """Returns the first row of this process and the row after its last. FSDP2 cuts tensors along their first dimension,
    as torch.chunk does."""
    index, count = shard_place(parameter)
    size = -(-parameter.shape[0] // count)
    return min(parameter.shape[0], index * size), min(parameter.shape[0], (index + 1) * size)


class FileRows:
    """Reads only the requested rows of tensors from safetensors files."""

    def __init__(self, files: dict[str, Path], shapes: dict[str, torch.Size]) -> None:
        self.files, self.shapes = files, shapes
        self.stack = ExitStack()
        self.readers: dict[Path, Any] = {}

    def __enter__(self) -> FileRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def __call__(self, name: str, start: int, stop: int) -> torch.Tensor:
        file = self.files[name]
        try:
            if file not in self.readers:
                self.readers[file] = self.stack.enter_context(safe_open(file, "pt"))
            piece = self.readers[file].get_slice(name)
        except (OSError, SafetensorError) as error:
            raise WorkerError("bad_model_files", f"{file} cannot be read: {first_line(error)}") from error
        if list(piece.get_shape()) != list(self.shapes[name]):
            raise WorkerError("bad_model_files", f"{name} in {file} has the shape {list(piece.get_shape())}, but the model of its config.json has {list(self.shapes[name])}.")
        return piece[start:stop]
