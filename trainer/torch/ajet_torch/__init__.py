"""The GPU worker of AgentJet. It loads a causal language model, samples from it and trains it on token trees.

It handles token ids, weights and losses. It has no code for text, messages, tasks, agents or rewards. Tensor names
carry their shape: N packed tokens, U unique predictors, M (predictor, target) pairs, K loss terms, D hidden size, V
vocabulary, B decode slots, H heads, S keys.
"""

SCHEMA_VERSION = 3
"""The version of the messages in `protocol.py`. Each side refuses to work with another version."""
