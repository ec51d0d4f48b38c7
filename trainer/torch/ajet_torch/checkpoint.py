"""Writes model folders, and writes and reads the trainer's state.

    dir/                          a Hugging Face model folder, readable by transformers and vLLM
    dir/adapter/                  with LoRA: the adapter alone, in peft's layout
    dir/trainer_state/trainer.json              step, policy version, parameter shapes, sizes and checksums of the files
    dir/trainer_state/shard-00001-of-0000N.safetensors   one per process: its rows of the masters and the two moments

A shard lists the rows of each tensor that it contains, so a checkpoint can be loaded by another number of processes.
The folder is written under another name next to its target and then renamed, so the old folder stays complete if a save
is killed. Between the two renames the old folder is named .NAME.replaced, and the control plane restores it under that
name.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path
from typing import Any, Callable

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch.distributed.tensor import DTensor
from transformers.utils import GENERATION_CONFIG_NAME

from .errors import WorkerError, first_line
from .generation_config import is_saveable
from .lora import fold_adapters, write_adapter
from .optimizer import STATE_NAMES, SplitAdamW, local, shard_place
from .training import Trainer

FORMAT = 1
CHECKED_BYTES = 64 << 20
WEIGHT_SUFFIXES = (".safetensors", ".bin", ".safetensors.index.json", ".bin.index.json", ".pth", ".gguf")


def save_checkpoint(trainer: Trainer, directory: str) -> None:
    """Saves the model folder and the trainer's state. All ranks must call this function together. Raises `checkpoint`
    if the folder cannot be written."""
    target = Path(directory)
    partial = target.with_name(target.name + ".partial")
    ranks = trainer.placement.ranks
    trainer.reshard()
    try:
        if ranks.is_first:
            shutil.rmtree(partial, ignore_errors=True)
            (partial / "trainer_state").mkdir(parents=True)
        ranks.barrier()
        _write_shard(trainer, partial / "trainer_state")
        state = _whole_state(trainer)
        ranks.barrier()
        if ranks.is_first:
            write_model_folder(trainer, _fold(state, trainer), partial)
            if trainer.config.lora.rank:
                base = str(Path(trainer.config.model_dir).resolve()) if trainer.config.model_dir else ""
                write_adapter(state, trainer.config.lora, base, partial / "adapter")
            _write_manifest(trainer, partial)
            _replace(partial, target)
        ranks.barrier()
    except OSError as error:
        raise WorkerError("checkpoint", f"Cannot write the checkpoint {directory}: {first_line(error)}") from error


def _replace(partial: Path, target: Path) -> None:
    old = target.with_name(f".{target.name}.replaced")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        os.rename(target, old)
    os.rename(partial, target)
    shutil.rmtree(old, ignore_errors=True)


def _whole_state(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Returns the unsharded state in host memory on the first rank, adapters included. All ranks must call this
    function."""
    precise = _masters(trainer) if _source_dtype(trainer) == torch.float32 and trainer.config.lora.rank == 0 else lambda tensor: tensor
    return {name: gathered for name, tensor in trainer.policy.lm.state_dict().items() if (gathered := gather_whole(precise(tensor), trainer)) is not None}


def _masters(trainer: Trainer) -> Callable[[torch.Tensor], torch.Tensor]:
    """Returns a function from a weight to its float32 master, so that a run that begins with the folder continues with
    the same masters. A master that does not round to its weight is replaced by the weight. Weights that are not split
    are their own masters."""
    is_split = type(trainer.optimizer) is SplitAdamW
    names = {p.data_ptr(): name for name, p in trainer.policy.lm.named_parameters()} if is_split else {}

    def master_of(weight: torch.Tensor) -> torch.Tensor:
        if weight.data_ptr() not in names:
            return weight
        master = trainer.optimizer.state(names[weight.data_ptr()])["master"]
        return torch.where(master.to(weight.dtype) == weight, master, weight.to(master.dtype))

    return master_of


def _fold(state: dict[str, torch.Tensor], trainer: Trainer) -> dict[str, torch.Tensor]:
    """Returns the weights by their Hugging Face names, with LoRA merged in. In the dtype of the source, because bfloat16
    would round small adapters away."""
    return dict(fold_adapters(state, trainer.config.lora, _source_dtype(trainer))) if trainer.config.lora.rank else state


def gather_whole(tensor: torch.Tensor, trainer: Trainer) -> torch.Tensor | None:
    whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return whole.detach().cpu() if trainer.placement.ranks.is_first else None


def write_model_folder(trainer: Trainer, weights: dict[str, torch.Tensor], target: Path) -> None:
    """Writes weights in the dtype of the source folder, and copies all other files of that folder. A generation config
    that transformers refuses to save is not copied."""
    lm = trainer.policy.lm
    source = _source_folder(trainer)
    dtype = source_dtype(source) or next(iter(weights.values())).dtype
    lm.save_pretrained(target, state_dict={name: tensor.to(dtype) if tensor.is_floating_point() else tensor for name, tensor in weights.items()})
    if source is not None:
        left = set() if is_saveable(str(source)) else {GENERATION_CONFIG_NAME}
        for file in source.iterdir():
            if file.is_file() and file.name not in left and not file.name.endswith(WEIGHT_SUFFIXES):
                shutil.copy2(file, target / file.name)


def _source_folder(trainer: Trainer) -> Path | None:
    return Path(trainer.config.model_dir) if trainer.config.model_dir else None


def _source_dtype(trainer: Trainer) -> torch.dtype | None:
    return source_dtype(_source_folder(trainer))


def source_dtype(source: Path | None) -> torch.dtype | None:
    """Returns the dtype of the first weights file, so that a folder keeps its precision."""
    files = sorted(source.glob("*.safetensors")) if source is not None else []
    if not files:
        return None
    with safe_open(files[0], "pt") as reader:
        for name in reader.keys():
            dtype = reader.get_tensor(name).dtype
            if dtype.is_floating_point:
                return dtype
    return None


def _write_shard(trainer: Trainer, folder: Path) -> None:
    """Writes this process's rows. Replicas on other nodes have the same rows, so only the processes of the first node
    write."""
    index, count = shard_place(next(trainer.policy.lm.parameters()))
    if trainer.placement.ranks.rank >= count:
        return
    tensors: dict[str, torch.Tensor] = {}
    for name in trained_names(trainer):
        for key, tensor in trainer.optimizer.state(name).items():
            tensors[f"{name}|{key}"] = local(tensor).detach().cpu().contiguous()
    first_rows = {name: str(first_row(trainer.policy.lm.get_parameter(name))) for name in trained_names(trainer)}
    save_file(tensors, folder / shard_name(index, count), metadata=first_rows)


def shard_name(rank: int, size: int) -> str:
    return f"shard-{rank + 1:05d}-of-{size:05d}.safetensors"


def trained_names(trainer: Trainer) -> list[str]:
    return [name for name, p in trainer.policy.lm.named_parameters() if p.requires_grad]


def first_row(parameter: torch.Tensor) -> int:
    """Returns where this process's rows begin. FSDP2 cuts tensors along their first dimension, as torch.chunk does."""
    index, count = shard_place(parameter)
    return 0 if count == 1 else min(parameter.shape[0], index * -(-parameter.shape[0] // count))


def _write_manifest(trainer: Trainer, folder: Path) -> None:
    shapes = {name: list(p.shape) for name, p in trainer.policy.lm.named_parameters() if p.requires_grad}
    files = {str(file.relative_to(folder)): describe(file) for file in sorted(folder.rglob("*")) if file.is_file()}
    manifest = {
        "format": FORMAT, "num_steps": trainer.optimizer.num_steps, "policy_version": trainer.policy_version,
        "num_shards": shard_place(next(trainer.policy.lm.parameters()))[1], "parameters": shapes, "files": files,
    }
    (folder / "trainer_state" / "trainer.json").write_text(json.dumps(manifest, indent=1), "utf-8")


def describe(file: Path) -> dict[str, int]:
    """Returns the size, and a checksum of the first and last 64 MiB."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        checksum = zlib.crc32(stream.read(CHECKED_BYTES))
        if size > CHECKED_BYTES:
            stream.seek(max(CHECKED_BYTES, size - CHECKED_BYTES))
            checksum = zlib.crc32(stream.read(), checksum)
    return {"bytes": size, "crc32": checksum}


def load_checkpoint(trainer: Trainer, directory: str) -> None:
    """Loads weights, masters and moments. All ranks must call this function together. If a file is missing or damaged,
    it raises `checkpoint` with the name of the file before it changes anything."""
    folder = Path(directory)
    trainer.reshard()
    manifest = read_manifest(folder)
    check_parameters(trainer, manifest, folder)
    ranks = trainer.placement.ranks
    broken = ranks.share(find_broken(folder, manifest) if ranks.is_first else None)
    if broken:
        raise WorkerError("checkpoint", broken)
    shards = [folder / "trainer_state" / shard_name(i, manifest["num_shards"]) for i in range(manifest["num_shards"])]
    trainer.optimizer.num_steps = int(manifest["num_steps"])
    trainer.policy_version = int(manifest["policy_version"])
    readers = [safe_open(shard, "pt") for shard in shards]
    for name in trained_names(trainer):
        parameter = trainer.policy.lm.get_parameter(name)
        start, count = first_row(parameter), local(parameter).shape[0] if parameter.ndim else 0
        trainer.optimizer.restore(name, {key: read_rows(readers, name, key, start, start + count) for key in STATE_NAMES})


def read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "trainer_state" / "trainer.json"
    try:
        manifest = json.loads(path.read_text("utf-8"))
        known = manifest["format"]
    except FileNotFoundError as error:
        raise WorkerError("checkpoint", f"{folder} is not a checkpoint: it has no trainer_state/trainer.json. Resume from a folder that save wrote.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise WorkerError("checkpoint", f"{path} cannot be read: {first_line(error)}. Resume from an earlier checkpoint.") from error
    if known != FORMAT:
        raise WorkerError("checkpoint", f"{path} has format {known}, and this release reads {FORMAT}. Load it with the release that wrote it.")
    return manifest


def find_broken(folder: Path, manifest: dict[str, Any]) -> str | None:
    for name, expected in manifest["files"].items():
        file = folder / name
        if not file.is_file():
            return f"{file} is missing from the checkpoint. Resume from an earlier one."
        found = describe(file)
        if found["bytes"] != expected["bytes"]:
            return f"{file} has {found['bytes']} bytes, but its manifest says {expected['bytes']}, so it is incomplete or was changed. Resume from an earlier checkpoint."
        if found["crc32"] != expected["crc32"]:
            return f"{file} does not match its checksum, so it was changed or damaged. Resume from an earlier checkpoint."
    return None


def check_parameters(trainer: Trainer, manifest: dict[str, Any], folder: Path) -> None:
    own = {name: list(p.shape) for name, p in trainer.policy.lm.named_parameters() if p.requires_grad}
    if own == manifest["parameters"]:
        return
    names = sorted(name for name in {*own, *manifest["parameters"]} if own.get(name) != manifest["parameters"].get(name))
    raise WorkerError(
        "checkpoint",
        f"{folder} was saved by another model: {len(names)} trained tensors differ, such as {names[0]} "
        f"({manifest['parameters'].get(names[0], 'absent')} there, {own.get(names[0], 'absent')} here). Use the model and the lora settings of the run that saved it.",
    )


def read_rows(readers: list[Any], name: str, key: str, start: int, stop: int) -> torch.Tensor:
    """Reads rows [start, stop) of a tensor from the shards that contain them."""
    parts = []
    try:
        for reader in readers:
            piece = reader.get_slice(f"{name}|{key}")
            begin = int(reader.metadata()[name])
            low, high = max(start, begin), min(stop, begin + piece.get_shape()[0])
            if low < high:
                parts.append(piece[low - begin : high - begin])
    except (SafetensorError, KeyError) as error:
        raise WorkerError("checkpoint", f"The checkpoint's shards do not have {name}: {first_line(error)}") from error
    return torch.cat(parts) if parts else torch.empty(0)
