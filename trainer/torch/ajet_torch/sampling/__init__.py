"""Inference servers: they take token ids and return sampled token ids with their logprobs."""
