"""Replaces vLLM in the tests; see vllm/entrypoints/cli/main.py."""
