"""A fake vLLM for the tests. `python -m vllm.entrypoints.cli.main serve MODEL` implements the part of vLLM's interface
that the worker uses, with transformers on a CPU.

The fake refuses every flag, body field and order of calls that vLLM 0.26 through 0.33 would refuse or ignore. Names and
shapes come from vLLM's sources. In contrast to vLLM it has no batching, and uses shared host memory instead of CUDA
IPC.

Environment variables change the fake at its start. FAKE_VLLM_VERSION is its version (0.33.0 by default).
FAKE_VLLM_QUANTIZED=1 makes its model differ from the loaded one. FAKE_VLLM_FAIL=1 ends it.

POST /stand_in {"fault": ...} sets a fault:

    deaf       takes new weights and drops them
    stale      keeps new weights, but samples from the old
    crash      ends at the third token of any answer
    midstream  sends an error with the second token
    slow       takes 50 ms a token
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys

from .app import Server
from .model import Model


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("model")
    for flag in ("--uds", "--served-model-name", "--worker-extension-cls"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--dtype", required=True, choices=["auto", "bfloat16", "float", "float16", "float32", "half"])
    parser.add_argument("--logprobs-mode", default="raw_logprobs", choices=["raw_logits", "raw_logprobs", "processed_logits", "processed_logprobs"])
    parser.add_argument("--generation-config", default="auto")
    parser.add_argument("--weight-transfer-config", type=json.loads)
    for flag in ("--max-model-len", "--max-num-seqs", "--seed", "--tensor-parallel-size"):
        parser.add_argument(flag, type=int, required=True)
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.92)
    for flag in ("--enable-prefix-caching", "--disable-uvicorn-access-log", "--enforce-eager", "--skip-tokenizer-init"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    assert args.logprobs_mode == "processed_logprobs" and args.generation_config == "vllm" and args.weight_transfer_config == {"backend": "ipc"}
    assert os.environ.get("VLLM_SERVER_DEV_MODE") == "1", "the routes of weight transfer exist in this mode alone"
    assert not any(name.startswith("TORCHELASTIC_") for name in os.environ)
    assert args.skip_tokenizer_init, "the folder has no tokenizer"
    print("Loading weights", flush=True)
    if "FAKE_VLLM_FAIL" in os.environ:
        print("(APIServer pid=1) WARNING 01-01 00:00:00 [base.py:1] ImportError: harmless", flush=True)
        print("(EngineCore pid=2) ERROR 01-01 00:00:00 [core.py:1] ValueError: Free memory on device (10.0/80.0 GiB) on startup is less than desired GPU memory utilization", flush=True)
        print("(APIServer pid=1) Traceback (most recent call last):\n" + "(APIServer pid=1)   File ...\n" * 60 + "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.", flush=True)
        sys.exit(1)
    signal.signal(signal.SIGTERM, end)
    Server(args, Model(args)).serve_forever()


def end(*_: object) -> None:
    """Handles SIGTERM. Logs the error that vLLM logs when its processes end together."""
    print("(APIServer pid=1) ERROR 01-01 00:00:00 [async_llm.py:1] AsyncLLM output_handler failed. EngineDeadError: EngineCore encountered an issue.", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
