"""The GPU worker of AgentJet. It loads a causal language model, samples from it and trains it on token trees.

It knows token ids, weights and losses. It knows no text, messages, tasks, agents or rewards. Tensor names carry their
shape: N packed tokens, U unique predictors, M (predictor, target) pairs, K loss terms, D hidden size, V vocabulary, B
decode slots, H heads, S keys.
"""

SCHEMA_VERSION = 3
"""Version of the messages in `protocol.py`; both sides refuse another one."""
