"""A small server that speaks the part of vLLM's HTTP interface that the worker uses, over transformers on a CPU.

Completions take ids and give ids with logprobs as server-sent events; weights change only while paused. What the real
one does that this does not: batching, a cache, CUDA IPC (weights come pickled over HTTP instead).
Environment: FAKE_VLLM_DEAF=1 takes new weights and does not use them.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Iterator
from urllib.parse import parse_qs, urlparse

import torch
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)


class Model:
    def __init__(self, folder: str) -> None:
        self.lm = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
        self.lock = threading.Lock()
        self.paused = False

    @torch.no_grad()
    def tokens(self, body: dict[str, Any]) -> Iterator[tuple[int, float, str | None]]:
        assert not (body["temperature"] == 0 and body["top_k"] == 0), "top_k is -1 for all"
        ids = list(body["prompt"])
        random = torch.Generator().manual_seed(body["seed"])
        for step in range(body["max_tokens"]):
            with self.lock:
                logits = self.lm(input_ids=torch.tensor([ids])).logits[0, -1]
            logprobs = (logits / (body["temperature"] or 1)).log_softmax(-1)
            token = int(logprobs.argmax() if body["temperature"] == 0 else torch.multinomial(logprobs.exp(), 1, generator=random))
            ids.append(token)
            is_stopped = token in body["stop_token_ids"]
            is_last = is_stopped or step + 1 == body["max_tokens"]
            yield token, float(logprobs[token]), ("stop" if is_stopped else "length") if is_last else None
            if is_last:
                return

    def load(self, tensors: list[tuple[str, Any]]) -> None:
        own = dict(self.lm.named_parameters())
        with self.lock, torch.no_grad():
            for name, array in tensors:
                if "FAKE_VLLM_DEAF" not in os.environ:
                    own[name].copy_(torch.from_numpy(array))


class Handler(BaseHTTPRequestHandler):
    model: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return None

    def answer(self, status: int, body: bytes = b"{}") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer(200 if self.path == "/health" else 404)

    def do_POST(self) -> None:
        url = urlparse(self.path)
        payload = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if url.path == "/pause":
            self.model.paused = parse_qs(url.query)["mode"] == ["keep"]
            self.answer(200)
        elif url.path == "/resume":
            self.model.paused = False
            self.answer(200)
        elif url.path == "/update_weights":
            if self.model.paused:
                self.model.load(pickle.loads(payload))
            self.answer(200 if self.model.paused else 409)
        elif url.path == "/v1/completions":
            self.complete(json.loads(payload))
        else:
            self.answer(404)

    def complete(self, body: dict[str, Any]) -> None:
        if not all(isinstance(token, int) for token in body["prompt"]) or not body["return_token_ids"] or body["logprobs"] != 0:
            self.answer(400, b'{"error": "ids and logprobs"}')
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for token, logprob, finish in self.model.tokens(body):
            choice = {"token_ids": [token], "logprobs": {"token_logprobs": [logprob]}, "finish_reason": None}
            self.event({"choices": [choice]})
            if finish:
                self.event({"choices": [{"token_ids": [], "logprobs": None, "finish_reason": finish}]})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def event(self, value: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", required=True)
    args, others = parser.parse_known_args()
    assert "--enable-prefix-caching" in others and "processed_logprobs" in others and '{"backend": "ipc"}' in others
    assert os.environ.get("VLLM_SERVER_DEV_MODE") == "1"
    Handler.model = Model(args.model)
    ThreadingHTTPServer((args.host, args.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
