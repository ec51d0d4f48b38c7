"""Makes a tiny configuration of every causal language model in transformers, so that it trains on a CPU in a moment.

The code contains no names of model families. It finds sizes by the names that configurations use for them. It sets
every dropout probability, scale and cap to a value that changes the result, so that a forward pass without it gives a
wrong result.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from transformers import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

VOCAB = 67
WINDOW = 6
SIZES: tuple[tuple[str, Any], ...] = (
    (r"vocab_size|vocab_size_per_layer_input|embedding_vocab_size", VOCAB),
    (r"(num_)?(hidden_|encoder_|decoder_)?layers|n_layers?|num_blocks", 4),
    (r"num_attention_heads|n_heads?|num_heads|(decoder|encoder)_attention_heads|attention_heads", 4),
    (r"num_key_value_heads|num_kv_heads|n_head_kv|num_global_key_value_heads", 2),
    (r"hidden_size|n_embd|d_model|dim|embedding_size|dim_model|model_dim|hidden_dim|word_embed_proj_dim|emb_dim", 32),
    (r"intermediate_size|ffn_dim|n_inner|(decoder|encoder)_ffn_dim|dim_ff|d_ff|d_inner|ffn_hidden_size|inner_dim|shared_intermediate_size|dff", 48),
    (r"moe_intermediate_size|shared_expert_intermediate_size|intermediate_size_mlp|moe_shared_expert_intermediate_size", 16),
    (r"head_dim|attention_head_dim|kv_channels|global_head_dim|d_kv|v_head_dim|qk_nope_head_dim", 8),
    (r"qk_rope_head_dim|rotary_dim", 4),
    (r"q_lora_rank", 12),
    (r"kv_lora_rank", 10),
    (r"(num_|n_)?(local_|routed_)?experts|moe_num_experts", 4),
    (r"num_experts_per_tok|num_experts_per_token|moe_top_k|moe_k|top_k_experts", 2),
    (r"n_group|topk_group|num_expert_groups", 1),
    (r"max_position_embeddings|n_positions|n_ctx|max_sequence_length|seq_length|max_seq_len|original_max_position_embeddings", 256),
    (r"sliding_window|window_size|attention_window|local_attention|attention_window_size|attention_chunk_size", WINDOW),
    (r"mamba_d_state|state_size|ssm_state_size|mamba_n_heads|mamba_num_heads|num_mem_heads", 8),
    (r"first_k_dense_replace|num_dense_layers|moe_num_shared_experts", 1),
)
SHOWN: tuple[tuple[str, Any], ...] = (
    (r".*(dropout|pdrop|dropout_prob|drop_rate|dropout_rate|drop|dropout_ratio|jitter_noise)", 0.1),
    (r"(embedding|residual|attention|lm_head|key|ssm_in|ssm_out|attention_in|attention_out)_multiplier|logits_scaling|logit_scale", 1.75),
    (r"final_logit_softcapping|attn_logit_softcapping|logits_soft_cap|final_logit_softcap", 3.0),
)
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SAME_HEADS = 4
UNSET = ("n_routed_experts", "head_dim", "num_key_value_heads", "final_logit_softcapping", "attn_logit_softcapping", "sliding_window")
"""Settings that change the computation although the defaults do not contain them."""


def tiny_config(model_type: str, shows: bool = True) -> PretrainedConfig:
    """Returns the configuration. If `shows` is False, dropout, scales and caps have the defaults of the class. Raises
    the errors of the class."""
    kind = CONFIG_MAPPING[model_type]
    return kind(**shrunk(kind, shows))


def shrunk(kind: type[PretrainedConfig], shows: bool) -> dict[str, Any]:
    """Returns new arguments for the class: for sizes, and for settings that must change the result."""
    defaults = kind()
    given = {name: value for name, value in defaults.to_dict().items() if name in _arguments(kind) or name in kind.attribute_map}
    table = (*SHOWN, *SIZES) if shows else SIZES
    chosen = {name: shrunk_value(name, value, table) for name, value in given.items()}
    if "qk_rope_head_dim" in given:  # all heads share one latent, so their number and the rotated width follow from it
        chosen |= {"head_dim": None, "num_key_value_heads": SAME_HEADS}
    changed = {name: value for name, value in chosen.items() if value is not None and value != given[name]}
    for name, sub in (getattr(kind, "sub_configs", None) or {}).items():
        if isinstance(getattr(defaults, name, None), PretrainedConfig):
            sub_kind = type(getattr(defaults, name))
            changed[name] = {**shrunk(sub_kind, shows), "model_type": sub_kind.model_type}
    return {**changed, **{name: value for name, value in TOKENS.items() if given.get(name) is not None or hasattr(defaults, name)}}


def _arguments(kind: type[PretrainedConfig]) -> set[str]:
    return set(inspect.signature(kind.__init__).parameters) | set(getattr(kind, "__annotations__", {})) | {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}


def shrunk_value(name: str, value: Any, table: tuple[tuple[str, Any], ...]) -> Any:
    if name == "is_decoder":
        return True
    if isinstance(value, (bool, dict, str, list)) or (value is None and name not in UNSET):
        return None
    for pattern, wanted in table:
        if re.fullmatch(pattern, name) and (type(wanted) is float or isinstance(value, int) or value is None):
            return int(bool(wanted)) if type(value) is int and type(wanted) is float else wanted
    return None
