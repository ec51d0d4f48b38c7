"""One request to one vLLM server: its body, its answer token by token, and how it continues after a server has failed.

This file does not use `@agentjet/model-client`, because the worker sends token ids over a Unix socket and can continue
an answer at another replica.
"""

from __future__ import annotations

import http.client
import json
import queue
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Iterable, Iterator

import numpy as np

from ..errors import WorkerError
from .server import SampleRequest, TokenEvent
from .vllm_http import JSON_HEADERS, UnixConnection, error_text
from .vllm_process import MODEL_NAME

if TYPE_CHECKING:
    from .vllm_replica import Replica


@dataclass
class Call:
    """A request and the tokens that it has received, from one server or, after a failure, from several."""

    request: SampleRequest
    heard: list[int] = field(default_factory=list)
    num_failures: int = 0

    def rest(self) -> SampleRequest:
        """Returns the request for the missing tokens. The received tokens came from the same weights, so they become
        part of the prompt. The seed changes, so that the rest does not repeat the random numbers of the beginning."""
        if not self.heard:
            return self.request
        prompt = np.concatenate([self.request.prompt_ids, np.asarray(self.heard, np.int32)])
        num = len(self.heard)
        return replace(self.request, prompt_ids=prompt, max_tokens=self.request.max_tokens - num, seed=self.request.seed + num)


class Refused(Exception):
    """The server works, but it refuses this request."""


Events = queue.SimpleQueue[tuple["Stream", "TokenEvent | WorkerError | Refused"]]


class Stream:
    """A call in progress at a server. A thread puts its results into `events`, until an error or the last token."""

    def __init__(self, call: Call, server: Replica, context_length: int, events: Events) -> None:
        self.call, self.server, self.events = call, server, events
        self.body = to_completion(call.rest(), context_length)
        self.process = server.process
        self.connection = UnixConnection(self.process.http.path)
        self.is_cancelled = threading.Event()
        threading.Thread(target=self._follow, daemon=True).start()

    def cancel(self) -> None:
        """Disconnects, so that vLLM frees the request."""
        self.is_cancelled.set()
        self.connection.hang_up()

    def _follow(self) -> None:
        connection, request = self.connection, self.call.request
        try:
            connection.connect()
            if self.is_cancelled.is_set():
                return
            connection.request("POST", "/v1/completions", json.dumps(self.body), JSON_HEADERS)
            response = connection.getresponse()
            if 400 <= response.status < 500:
                raise Refused(f"vLLM failed: status {response.status}: {error_text(response.read())}")
            if response.status != 200:
                raise ValueError(f"status {response.status}: {error_text(response.read())}")
            chunks = chunks_of(response) if request.stream else iter([json.loads(response.read())])
            for event in with_finish(chunks, request.id):
                self.server.hear()
                self.events.put((self, event))
        except Refused as error:
            self.events.put((self, error))
        except (OSError, ValueError, KeyError, AttributeError, http.client.HTTPException) as error:
            if not self.is_cancelled.is_set():
                self.events.put((self, WorkerError("failed", f"vLLM failed: {type(error).__name__}: {error}. {self.process.last_words()}")))
        finally:
            connection.close()


def to_completion(request: SampleRequest, context_length: int) -> dict[str, Any]:
    """Returns the body of the completion request. With `return_tokens_as_token_ids`, vLLM need not decode the strings
    that come with logprobs. Nothing reads these strings."""
    room = context_length - len(request.prompt_ids)
    return {
        "model": MODEL_NAME, "prompt": request.prompt_ids.tolist(), "max_tokens": min(request.max_tokens, room), "temperature": request.temperature,
        "top_p": request.top_p, "top_k": request.top_k, "seed": request.seed, "stop_token_ids": sorted(request.stop_ids), "ignore_eos": True,
        "logprobs": 0, "return_token_ids": True, "return_tokens_as_token_ids": True, "stream": request.stream,
    }


def chunks_of(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Returns the JSON payloads of server-sent events. Other lines are comments that keep the connection alive."""
    for line in lines:
        if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
            yield json.loads(line[6:])


def with_finish(chunks: Iterable[dict[str, Any]], request_id: int) -> Iterator[TokenEvent]:
    """Returns tokens in order. It holds each token back until the next one arrives, because the finish reason is part
    of the last token, but may arrive after it in a chunk without tokens.

    Raises ValueError for an error in midstream, for an answer that the server gave up (`abort`, `error`), and for an
    answer that ends without a finish reason.
    """
    held: TokenEvent | None = None
    finish: str | None = None
    for chunk in chunks:
        if "error" in chunk:
            raise ValueError(error_text(json.dumps(chunk).encode()))
        choice = chunk["choices"][0] if chunk.get("choices") else {}
        finish = choice.get("finish_reason") or finish
        logprobs = (choice.get("logprobs") or {}).get("token_logprobs") or []
        for token, logprob in zip(choice.get("token_ids") or [], logprobs, strict=True):
            if held is not None:
                yield held
            held = TokenEvent(request_id, int(token), float(logprob), None)
    if held is None or finish not in ("stop", "length"):
        raise ValueError(f"an answer ended {'without a token' if held is None else 'early'} (finish reason {finish})")
    yield replace(held, finish=finish)
