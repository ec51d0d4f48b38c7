"""Runs one rank of a small training run for the tests: `run_rank.py OUT_DIR MODE...`. Each process has RANK and
WORLD_SIZE in its environment."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)

from ajet_torch.checkpoint import gather_whole, load_checkpoint, save_checkpoint  # noqa: E402
from ajet_torch.config import InferenceConfig, LoraConfig, OptimizerConfig, WorkerConfig  # noqa: E402
from ajet_torch.losses import LossConfig  # noqa: E402
from ajet_torch.model import decoder_layers  # noqa: E402
from ajet_torch.ranks import Ranks, join_ranks, leave_ranks  # noqa: E402
from ajet_torch.sampling.server import SampleRequest  # noqa: E402
from ajet_torch.session import Session  # noqa: E402
from ajet_torch.training import Placement, Trainer  # noqa: E402
from tiny import random_rows, supervise, tree_pack  # noqa: E402


CUT = {"top_p": 0.9, "top_k": 40}
HEAD = {"target_modules": ("embed_tokens", "lm_head", "q_proj")}


def make_packs(num: int = 3):
    rng = np.random.default_rng(5)
    packs = []
    for _ in range(num):
        rows = random_rows(rng)
        packs.append(tree_pack(rows, supervise(rng, rows)))
    return packs


def break_pass(trainer: Trainer) -> None:
    """Makes a step that fails between two layers of a group, and resets the layers."""
    def fail(*_: object) -> None:
        raise ValueError("broken")

    hook = decoder_layers(trainer.policy.lm)[2].register_forward_pre_hook(fail)
    try:
        trainer.step(make_packs(), LossConfig())
        raise AssertionError("The step did not fail.")
    except ValueError:
        hook.remove()
        trainer.reshard()


def run(out: Path, mode: str, ranks: Ranks) -> dict:
    lora = LoraConfig(rank=2, alpha=4.0, **HEAD if "head" in mode else {}) if "lora" in mode else LoraConfig()
    config = WorkerConfig(
        model_dir=str(out / ("untied" if "head" in mode else "model")), optimizer=OptimizerConfig(learning_rate=0.01, warmup_steps=2), lora=lora,
        cpu_offload="offload" in mode, activation_checkpointing="checkpointing" in mode, shard_over="all" if "all" in mode else "node",
    )
    sharded = ranks.size > 1 or config.cpu_offload
    trainer = Trainer(config, Placement(torch.device("cpu"), torch.float64, ranks, sharded))
    if "resume" in mode:
        load_checkpoint(trainer, str(out / mode.rpartition("-")[2]))
    loss = LossConfig(kl_coef=0.1 if "kl" in mode else 0.0, **CUT if "cut" in mode else {})
    kept = trainer.kept_tokens(make_packs(), 1.0, loss.truncation)
    if "broken" in mode:
        break_pass(trainer)
    steps = [trainer.step(make_packs(), loss) for _ in range(3)]
    row = np.arange(9, dtype=np.int32)
    logprobs = trainer.logprobs([row, row[:4], row[:1], row[2:]])
    if "save" in mode:
        save_checkpoint(trainer, str(out / f"from{ranks.size}"))
    sets = [[each.set.tolist(), each.starts.tolist(), each.ids.tolist()] for each in kept]
    return {"steps": steps, "logprobs": [x.tolist() for x in logprobs], "kept": sets}


def run_start(out: Path, mode: str, ranks: Ranks) -> dict:
    """Returns the bits of each whole master at the start, and the losses of three steps. The mode ends with
    master_start."""
    start = mode.rpartition("-")[2]
    config = WorkerConfig(model_dir=str(out / ("half" if start == "dithered" else "model")), master_start=start, seed=3, optimizer=OptimizerConfig(learning_rate=0.001))
    trainer = Trainer(config, Placement(torch.device("cpu"), torch.bfloat16, ranks, ranks.size > 1))
    bits = {}
    for name, parameter in trainer.policy.lm.named_parameters():
        master = trainer.optimizer.state(name)["master"] if ranks.size == 1 else gather_whole(parameter, trainer)
        bits[name] = master.view(torch.int32).flatten().tolist() if ranks.is_first else []
    return {"masters": bits, "losses": [trainer.step(make_packs(), LossConfig(kind="sft"))["loss"] for _ in range(3)]}


def run_vllm(out: Path, mode: str, ranks: Ranks) -> dict:
    """Returns the largest gaps between the sampler's logprobs and the trainer's, with the first weights and after a
    step."""
    inference = InferenceConfig(server="vllm", kv_tokens=64, colocated="alone" not in mode)
    config = WorkerConfig(model_dir=str(out / "model"), optimizer=OptimizerConfig(learning_rate=0.05), inference=inference)
    session = Session(config, Placement(torch.device("cpu"), torch.float32, ranks, ranks.size > 1))
    prompt = np.asarray([3, 1, 4], np.int32)
    gaps = []
    try:
        for _ in range(2):
            asked = [SampleRequest(7, prompt, 0.0, 1.0, 0, 6, frozenset(), 0, False)] if ranks.is_first else []
            events = session.sample(asked, [])
            while not ranks.share(len(events) > 0 and events[-1].finish is not None):
                events += session.sample([], [])
            answer = ranks.share([(event.token, event.logprob) for event in events])
            row = np.concatenate([prompt, np.asarray([token for token, _ in answer], np.int32)])
            gaps.append(float(np.abs(session.trainer.logprobs([row])[0][3:] - [logprob for _, logprob in answer]).max()))
            session.trainer.step(make_packs(), LossConfig(kind="sft"))
            session.sync_weights()
    finally:
        session.server.close()
    return {"gaps": gaps}


def main() -> None:
    out, *modes = sys.argv[1:]
    ranks = join_ranks("cpu", os.environ.get("AJET_STORE"), True, 600)
    for mode in modes:
        result = (run_vllm if "vllm" in mode else run_start if "start" in mode else run)(Path(out), mode, ranks)
        if ranks.is_first:
            (Path(out) / f"{mode}-{ranks.size}.json").write_text(json.dumps(result))
    leave_ranks()


if __name__ == "__main__":
    main()
