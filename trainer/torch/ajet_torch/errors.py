"""Errors that the worker sends to the control plane. The control plane raises a BackboneError or EngineError with the
same code."""

from __future__ import annotations


class WorkerError(Exception):
    """An error with the problem, the value seen and the repair. Codes are those of core's BackboneError and
    EngineError."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[WorkerError], tuple[str, str]]:
        return WorkerError, (self.code, str(self))  # for pickle, which sends it to other processes


# A resumed run keeps max_pack_tokens, lora and max_model_len.
WAYS_OUT = "Turn on torch.activation_checkpointing or torch.cpu_offload, or lower rollout.max_num_seqs. A new run can also lower trainer_common.max_pack_tokens, or set lora.rank."
WAYS_OUT_OF_SAMPLING = "End other programs on this device, or lower rollout.max_num_seqs or rollout.max_env_worker. A new run can also lower rollout.max_model_len."


def to_error(thrown: BaseException, doing: str = "") -> WorkerError:
    """Returns any exception as a WorkerError. An error for missing memory gets a separate code and names the settings
    to change, which depend on the task of the worker (`Progress.doing`)."""
    if isinstance(thrown, WorkerError):
        return thrown
    if is_out_of_memory(thrown):
        return WorkerError(
            "out_of_memory",
            f"The device ran out of memory{f' during the task {doing}' if doing else ''}: {first_line(thrown)} {WAYS_OUT_OF_SAMPLING if doing == 'sampling' else WAYS_OUT}",
        )
    return WorkerError("failed", f"{type(thrown).__name__}: {first_line(thrown)}")


def is_out_of_memory(thrown: BaseException) -> bool:
    """Recognises the exceptions for missing memory of a device and of the machine. Calls of CUDA outside of PyTorch's
    allocator, such as a new stream, raise torch.AcceleratorError."""
    import torch

    words = str(thrown)
    return isinstance(thrown, (torch.OutOfMemoryError, MemoryError)) or "can't allocate memory" in words or "CUDA error: out of memory" in words


def first_line(thrown: BaseException) -> str:
    return (str(thrown).strip().splitlines() or [type(thrown).__name__])[0]
