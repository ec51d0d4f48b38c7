"""Serves the files of /notes: `GET /word` is the content of word.txt."""

import os
import socket

listener = socket.create_server(("0.0.0.0", int(os.environ["PORT"])))
while True:
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as stream:
        words = stream.readline().split()
        while stream.readline() not in (b"\r\n", b""):
            pass  # to close before the request is read would reset the connection
        name = os.path.basename(words[1].decode()) if len(words) > 1 else ""
        if name == "word":
            body = open("/notes/word.txt").read()
            connection.sendall(f"HTTP/1.0 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
