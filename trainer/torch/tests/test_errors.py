"""Errors for missing memory, which have several types."""

from __future__ import annotations

import pytest
import torch

from ajet_torch.errors import to_error


@pytest.mark.parametrize(
    "thrown",
    [torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.75 GiB."), MemoryError(), RuntimeError("[enforce fail] can't allocate memory"), torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation'")],
)
def test_missing_memory_names_the_settings_to_change(thrown: BaseException) -> None:
    error = to_error(thrown)
    assert error.code == "out_of_memory"
    assert "lower trainer_common.max_pack_tokens" in str(error)


def test_missing_memory_during_sampling_names_settings_of_the_sampler() -> None:
    error = to_error(torch.OutOfMemoryError("CUDA out of memory."), "sampling")
    assert error.code == "out_of_memory"
    assert "during the task sampling: CUDA out of memory. End other programs on this device, or lower rollout.max_num_seqs or rollout.max_env_worker" in str(error)


def test_another_error_of_the_device_keeps_its_type() -> None:
    error = to_error(torch.AcceleratorError("CUDA error: an illegal memory access was encountered"))
    assert (error.code, str(error)) == ("failed", "AcceleratorError: CUDA error: an illegal memory access was encountered")
