"""Frames between the control plane and the worker. A frame is a length, then one msgpack map.

    frame = uint32 big-endian length of the body, body
    body  = { "kind": str, "id"?: int, ... }; arrays are little-endian bytes whose type the field's name fixes

The environment gives the worker the address and the token (AJET_CONNECT host:port, AJET_TOKEN). The worker says `hello`
with the schema version and the token, and receives its configuration. Requests carry an id and get exactly one `result`
or `error` with that id; `tokens` may come before. The worker sends `heartbeat` without a request.
"""

from __future__ import annotations

import queue
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import msgpack

from .errors import WorkerError

MAX_FRAME = 1 << 30
assert sys.byteorder == "little", "payloads are little-endian"


def pack_frame(message: dict[str, Any]) -> bytes:
    body = msgpack.packb(message)
    if len(body) > MAX_FRAME:
        raise WorkerError("failed", f"A message of {len(body)} bytes is over the limit of {MAX_FRAME}.")
    return struct.pack(">I", len(body)) + body


def read_exactly(stream: socket.socket, size: int) -> bytes | None:
    """Returns None if the other side closed before the first byte. It also returns None for an incomplete frame, which
    comes from a broken peer."""
    parts, missing = [], size
    while missing:
        part = stream.recv(min(missing, 1 << 20))
        if not part:
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def read_frame(stream: socket.socket) -> dict[str, Any] | None:
    head = read_exactly(stream, 4)
    if head is None:
        return None
    (size,) = struct.unpack(">I", head)
    if size > MAX_FRAME:
        raise WorkerError("failed", f"A frame of {size} bytes is over the limit of {MAX_FRAME}.")
    body = read_exactly(stream, size)
    return None if body is None else msgpack.unpackb(body, strict_map_key=False)


@dataclass
class Progress:
    """The present task of the main thread. Heartbeats contain it, so the control plane can distinguish a stuck worker
    from a busy one."""

    doing: str = "start"
    count: int = 0

    def at(self, doing: str) -> None:
        self.doing = doing
        self.count += 1


@dataclass
class Connection:
    """A socket with one reading thread, one heartbeat thread and any number of senders."""

    stream: socket.socket
    progress: Progress
    inbox: queue.SimpleQueue[dict[str, Any] | None] = field(default_factory=queue.SimpleQueue)
    aborted: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, message: dict[str, Any]) -> None:
        frame = pack_frame(message)
        with self.lock:
            self.stream.sendall(frame)

    def start(self, heartbeat_s: float) -> None:
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._beat, args=(heartbeat_s,), daemon=True).start()

    def _read(self) -> None:
        """Reads messages. An abort takes effect at once, even during a step. All other messages wait in the queue."""
        try:
            while (message := read_frame(self.stream)) is not None:
                if message["kind"] == "abort":
                    self.aborted.add(message["id"])
                self.inbox.put(message)
        except OSError:
            pass
        self.inbox.put(None)

    def _beat(self, seconds: float) -> None:
        try:
            while True:
                self.send({"kind": "heartbeat", "doing": self.progress.doing, "count": self.progress.count})
                time.sleep(seconds)
        except OSError:
            return

    def receive(self, wait: bool) -> dict[str, Any] | None:
        """Returns the next message. With wait=False it raises queue.Empty if there is none. None means that the other
        side has closed the connection."""
        return self.inbox.get(block=wait)


def connect(address: str, token: str, version: int) -> tuple[socket.socket, dict[str, Any]]:
    """Says hello and returns the socket with the configuration message."""
    host, _, port = address.rpartition(":")
    stream = socket.create_connection((host, int(port)), timeout=60)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.sendall(pack_frame({"kind": "hello", "schema": version, "token": token}))
    message = read_frame(stream)
    if message is None:
        raise SystemExit("The control plane closed the connection at hello, because the token or the schema version is wrong. Start the worker with the line that the run prints.")
    if message.get("schema") != version:
        raise SystemExit(f"The control plane uses version {message.get('schema')} of the messages, and this worker uses version {version}. Install both from one release.")
    stream.settimeout(None)
    return stream, message
