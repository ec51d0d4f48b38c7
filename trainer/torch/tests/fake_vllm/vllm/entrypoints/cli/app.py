"""Serves the routes of the fake vLLM."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any, Iterator
from urllib.parse import parse_qsl, urlparse

from .model import VERSION, Model

FIELDS = {
    "model", "prompt", "max_tokens", "temperature", "top_p", "top_k", "seed", "stop_token_ids", "ignore_eos", "logprobs",
    "return_token_ids", "return_tokens_as_token_ids", "stream",
}
"""The fields of vLLM's CompletionRequest that the fake accepts. The real one drops unknown fields with no more than a
line in its log."""


class Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    request_queue_size = 2048

    def __init__(self, args: argparse.Namespace, model: Model) -> None:
        self.args, self.model = args, model
        self.mode: str | None = None
        self.pauses = 0
        self.running = 0
        self.hung_up = 0
        self.prompts: list[int] = []
        self.count_lock = threading.Lock()
        module, _, name = args.worker_extension_cls.rpartition(".")
        self.worker = type("Worker", (getattr(importlib.import_module(module), name),), {"get_model": lambda _: model.get_model()})()
        super().__init__(args.uds, Handler)

    def count(self, running: int, hung_up: int = 0) -> None:
        with self.count_lock:
            self.running += running
            self.hung_up += hung_up


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        return None

    def answer(self, status: int, body: dict[str, Any] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if data:
            self.wfile.write(data)

    def refuse(self, status: int, message: str) -> None:
        self.answer(status, {"error": {"message": message, "type": "BadRequestError", "param": None, "code": status}})

    def do_GET(self) -> None:
        server = self.server
        known = {"/health": None, "/version": {"version": VERSION}, "/stand_in": {"running": server.running, "hung_up": server.hung_up, "paused": server.mode, "prompts": server.prompts}}
        self.answer(200 if self.path in known else 404, known.get(self.path, {"detail": "Not Found"}))

    def do_POST(self) -> None:
        url = urlparse(self.path)
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(data) if data else {}
        try:
            if url.path == "/v1/completions":
                self.complete(body)
            elif url.path == "/stand_in":
                self.answer(200, self.server.model.set_fault(body["fault"]))
            elif url.path in ("/pause", "/resume", "/collective_rpc") or "weight" in url.path:
                self.answer(200, self.control(url.path, dict(parse_qsl(url.query)), body))
            else:
                self.answer(404, {"detail": "Not Found"})
        except (ValueError, RuntimeError, KeyError, AttributeError, AssertionError) as error:
            self.refuse(500, f"{type(error).__name__}: {error}")

    def control(self, path: str, query: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
        server, model = self.server, self.server.model
        if path == "/pause":
            assert set(query) <= {"mode", "clear_cache"} and query.get("mode", "abort") in ("abort", "wait", "keep")
            server.mode, server.pauses = query.get("mode", "abort"), server.pauses + 1
            if query.get("clear_cache", "true") == "true":
                model.cache.clear()
        elif path == "/resume":
            server.mode = None
        elif path == "/collective_rpc":
            assert set(body) <= {"method", "args"} and all(isinstance(each, str) for each in body.get("args", []))
            assert server.mode is not None or body["method"] != "ajet_load", "weights change while requests run"
            return {"results": [getattr(server.worker, body["method"])(*body.get("args", []))]}
        elif path == "/init_weight_transfer_engine":
            model.init_transfer(body["init_info"])
        else:
            assert server.mode is not None, "weights change while requests run"
            assert set(body) == ({"update_info"} if path == "/update_weights" else set())
            {"/start_weight_update": model.start_update, "/update_weights": lambda: model.update(body["update_info"]), "/finish_weight_update": model.finish_update}[path]()
        return {"message": "done"}

    def complete(self, body: dict[str, Any]) -> None:
        server = self.server
        if set(body) - FIELDS:
            raise ValueError(f"unknown fields {sorted(set(body) - FIELDS)}")
        if body["model"] != server.args.served_model_name:
            return self.refuse(404, f"The model `{body['model']}` does not exist.")
        if server.mode is not None:
            return self.refuse(503, "The engine is paused.")
        if len(body["prompt"]) + body["max_tokens"] > server.args.max_model_len:
            return self.refuse(400, "This model's maximum context length is exceeded.")
        assert body["return_token_ids"] and body["logprobs"] == 0 and body["ignore_eos"] and -(2**63) <= body["seed"] < 2**63
        server.count(1)
        server.prompts.append(body["prompt"][0])
        try:
            self.stream(body) if body["stream"] else self.whole(body)
            server.count(-1)
        except OSError:
            server.count(-1, 1)
        self.close_connection = True

    def choices(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yields one chunk for each token. The last chunk has the finish reason. Raises OSError if the client has
        disconnected."""
        pauses = self.server.pauses
        for number, (token, logprob, finish) in enumerate(self.server.model.tokens(body)):
            if self.server.model.fault == "crash" and number == 2:
                os._exit(1)
            readable = select.select([self.connection], [], [], 0)[0]
            if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
                raise OSError("hung up")
            if self.server.pauses != pauses:
                yield {"index": 0, "text": "", "token_ids": [], "logprobs": None, "finish_reason": "abort"}
                return
            logprobs = {"text_offset": [0], "token_logprobs": [logprob], "tokens": [f"token_id:{token}"], "top_logprobs": [None]}
            yield {"index": 0, "text": "", "token_ids": [token], "logprobs": logprobs, "finish_reason": finish}

    def whole(self, body: dict[str, Any]) -> None:
        choices = list(self.choices(body))
        logprobs = [value for choice in choices for value in (choice["logprobs"] or {}).get("token_logprobs", [])]
        ids = [token for choice in choices for token in choice["token_ids"]]
        self.answer(200, {"object": "text_completion", "choices": [{**choices[-1], "token_ids": ids, "logprobs": {"token_logprobs": logprobs}, "prompt_token_ids": body["prompt"]}]})

    def stream(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b": keep-alive\n\n")
        for number, choice in enumerate(self.choices(body)):
            if self.server.model.fault == "midstream" and number == 1:
                self.event({"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "code": 500}})
                break
            self.event({"object": "text_completion", "choices": [choice]})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()
