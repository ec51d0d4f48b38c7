"""Sends HTTP requests to vLLM over a Unix socket in a private folder. No port can clash, and no other user reaches the
development routes of vLLM."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from typing import Any

from ..errors import WorkerError

ANSWER_TIMEOUT_S = 600
JSON_HEADERS = {"Content-Type": "application/json"}


class UnixConnection(http.client.HTTPConnection):
    """Makes one request and closes the connection."""

    def __init__(self, path: str, timeout: float | None = None) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path
        self.line: socket.socket | None = None

    def connect(self) -> None:
        self.sock = self.line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def hang_up(self) -> None:
        """Ends a read in another thread, and makes the server notice that the client has disconnected. `close` alone
        does neither. This method uses `line`, because `sock` may be None: http.client sets it to None when an answer
        begins that ends with the connection."""
        if self.line is not None:
            try:
                self.line.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class VllmHttp:
    def __init__(self, path: str) -> None:
        self.path = path

    def is_healthy(self) -> bool:
        """Raises OSError if nothing listens yet."""
        return self._exchange("GET", "/health", None)[0] == 200

    def get(self, path: str) -> Any:
        return self._require("GET", path, None)

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Returns the JSON answer. If the status is not 200, raises `weight_sync` with the server's message."""
        return self._require("POST", path, body)

    def _require(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        try:
            status, answer = self._exchange(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise WorkerError("weight_sync", f"vLLM did not answer {path}: {type(error).__name__}: {error}") from error
        if status != 200:
            raise WorkerError("weight_sync", f"vLLM answered {path} with status {status}: {error_text(answer)}")
        return json.loads(answer) if answer else None

    def _exchange(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        connection = UnixConnection(self.path, ANSWER_TIMEOUT_S)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {} if body is None else JSON_HEADERS)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def error_text(answer: bytes) -> str:
    """Reads an error body of vLLM: {"error": {"message": ...}}, {"error": "..."}, {"detail": ...}, or any other
    content."""
    try:
        found = json.loads(answer)
        error = found.get("error", found.get("detail", found))
        return str(error.get("message") or error) if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError):
        return answer[:500].decode(errors="replace")


class Broadcast:
    """Sends the same requests to several servers at once. After a failure a server gets no further requests."""

    def __init__(self, servers: dict[int, VllmHttp]) -> None:
        self.servers = servers
        self.failures: dict[int, WorkerError] = {}

    def post(self, path: str, body: dict[str, Any] | None = None) -> None:
        asked = [(key, server) for key, server in self.servers.items() if key not in self.failures]
        threads = [threading.Thread(target=self._post_to, args=(key, server, path, body)) for key, server in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _post_to(self, key: int, server: VllmHttp, path: str, body: dict[str, Any] | None) -> None:
        try:
            server.post(path, body)
        except WorkerError as error:
            self.failures[key] = error

    def require(self, key: int) -> None:
        """Raises the failure of one server, if it has failed."""
        if key in self.failures:
            raise self.failures[key]
