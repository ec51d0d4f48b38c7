"""Handles generation_config.json. transformers checks this file when it saves a model, but not when it loads one.

Some published models have a config that transformers refuses to save, such as `do_sample: false` next to a temperature.
The worker does not read the sampling defaults in this file, but a checkpoint contains them.
"""

from __future__ import annotations

import logging

from transformers import GenerationConfig, PreTrainedModel

from .errors import first_line

log = logging.getLogger("ajet_torch")
ENDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_repaired: set[str] = set()
"""The folders for which the warning was already logged."""


def repair_generation_config(lm: PreTrainedModel, folder: str) -> None:
    """Makes sure that the model can be saved: removes the sampling settings that its own do_sample: false makes
    ineffective."""
    problem = find_problem(lm.generation_config)
    if problem is None:
        return
    lm.generation_config = repaired(lm.generation_config)
    if folder not in _repaired:
        _repaired.add(folder)
        log.info("generation_config.json of %s cannot be saved unchanged (%s). The file in checkpoints does not contain its unused settings.", folder, problem)


def find_problem(config: GenerationConfig | None) -> str | None:
    try:
        if config is not None:
            config.validate(strict=True)
    except ValueError as error:
        return next((line.strip("- ") for line in str(error).splitlines() if line.startswith("- ")), first_line(error))
    return None


def repaired(config: GenerationConfig) -> GenerationConfig:
    given = config.to_diff_dict()
    sampling = ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h")
    greedy = GenerationConfig(**{name: value for name, value in given.items() if name not in sampling})
    return greedy if find_problem(greedy) is None else GenerationConfig(**{name: given[name] for name in ENDS if name in given})


def is_saveable(folder: str) -> bool:
    """Returns whether transformers can save the folder's own file."""
    try:
        return find_problem(GenerationConfig.from_pretrained(folder, local_files_only=True)) is None
    except (OSError, ValueError):
        return True
