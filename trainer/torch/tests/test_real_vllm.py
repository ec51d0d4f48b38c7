"""Sends our requests through vLLM's own parsers. The tests need no GPU and are skipped if vLLM is not installed.

vLLM's bare sources on the path (the *.py and *.dist-info of a wheel) are enough. LOG.md says how 0.26 through 0.33 were
tested.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
from typing import Any

import numpy as np
import pytest
import torch

from ajet_torch.config import InferenceConfig, WorkerConfig
from ajet_torch.sampling.server import SampleRequest
from ajet_torch.sampling.vllm_process import MODEL_NAME, command_line, require_version
from ajet_torch.sampling.vllm_stream import to_completion


@pytest.fixture(scope="module", autouse=True)
def version() -> tuple[int, int]:
    try:
        found = require_version(importlib.metadata.version("vllm"))
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("vLLM is not installed")
    if not torch.cuda.is_available():
        platforms = importlib.import_module("vllm.platforms")
        platforms._current_platform = importlib.import_module("vllm.platforms.cpu").CpuPlatform()
    return found


def module_with(names: list[str], attribute: str) -> Any:
    """Returns the attribute from the first module that has it, because vLLM moves names between modules."""
    for name in names:
        try:
            return getattr(importlib.import_module(name), attribute)
        except (ImportError, AttributeError):
            continue
    raise AssertionError(f"no {attribute} in any of {names}")


def test_every_flag_is_known_and_read_as_meant() -> None:
    parser_type = module_with(["vllm.utils.argparse_utils"], "FlexibleArgumentParser")
    homes = [f"vllm.entrypoints.{home}.cli_args" for home in ("openai", "launchers", "common")]
    config = WorkerConfig(model_dir="/nowhere", seed=3, inference=InferenceConfig(server="vllm", slots=16, cuda_graphs=False, tensor_parallel_size=2))
    _, _, module, command, *arguments = command_line(config, "/tmp/vllm.sock", 64, torch.bfloat16)
    assert importlib.util.find_spec(module) is not None and command == "serve"
    found = module_with(homes, "make_arg_parser")(parser_type()).parse_args(arguments)
    module_with(homes, "validate_parsed_serve_args")(found)
    assert found.uds == "/tmp/vllm.sock" and found.served_model_name == [MODEL_NAME] and found.weight_transfer_config.backend == "ipc"
    assert (found.dtype, found.max_model_len, found.max_num_seqs, found.seed, found.tensor_parallel_size) == ("bfloat16", 64, 16, 3, 2)
    assert (found.logprobs_mode, found.generation_config, found.gpu_memory_utilization) == ("processed_logprobs", "vllm", 0.45)
    assert found.enable_prefix_caching and found.enforce_eager and found.skip_tokenizer_init and found.disable_uvicorn_access_log


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_means_what_it_says(stream: bool) -> None:
    request_type = module_with(["vllm.entrypoints.openai.completion.protocol"], "CompletionRequest")
    request = SampleRequest(1, np.asarray([3, 1, 4], np.int32), 0.7, 0.9, 20, 99, frozenset([5, 2]), 2**53 - 1, stream)
    body = json.loads(json.dumps(to_completion(request, 64)))
    assert not set(body) - set(request_type.model_fields)
    parameters = request_type.model_validate(body).to_sampling_params(body["max_tokens"], {})
    assert (parameters.temperature, parameters.top_p, parameters.top_k, parameters.max_tokens, parameters.n) == (0.7, 0.9, 20, 61, 1)
    assert (sorted(parameters.stop_token_ids), parameters.ignore_eos, parameters.logprobs, parameters.seed) == ([2, 5], True, 0, 2**53 - 1)
    assert (parameters.min_p, parameters.repetition_penalty, parameters.presence_penalty, parameters.frequency_penalty) == (0.0, 1.0, 0.0, 0.0)


def test_the_weight_transfer_takes_these_fields(version: tuple[int, int]) -> None:
    try:
        engine = importlib.import_module("vllm.distributed.weight_transfer.ipc_engine")
    except ModuleNotFoundError as error:
        assert version == (0, 26) and error.name == "ray"
        pytest.skip("vLLM 0.26 needs ray for this")
    fields = {"names": ["a"], "dtype_names": ["bfloat16"], "shapes": [[1]], "ipc_handles": {"uuid": ()}, "tensor_sizes": [2]}
    if version == (0, 26):
        engine.IPCWeightTransferInitInfo()
        engine.IPCWeightTransferUpdateInfo(**fields, packed=True)
        return
    engine.IPCWeightTransferInitInfo(packed=True)
    engine.IPCWeightTransferUpdateInfo(**fields)
