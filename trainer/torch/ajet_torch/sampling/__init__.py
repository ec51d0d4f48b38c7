"""Inference servers. They take token ids and return sampled token ids with their logprobs."""
