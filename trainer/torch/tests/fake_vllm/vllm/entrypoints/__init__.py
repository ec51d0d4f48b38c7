"""Stands in for vLLM in the tests; see vllm/entrypoints/openai/api_server.py."""
