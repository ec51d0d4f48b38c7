"""Serves the files of /notes: `GET /word` is the content of word.txt. Survives connections that break off."""

import os
import socket

listener = socket.create_server(("0.0.0.0", int(os.environ["PORT"])))


def answer(stream):
    words = stream.readline().split()
    while stream.readline() not in (b"\r\n", b""):
        pass  # to close before the request is read would reset the connection
    name = os.path.basename(words[1].decode()) if len(words) > 1 else ""
    if name == "word":
        body = open("/notes/word.txt").read()
        stream.write(f"HTTP/1.0 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())


while True:
    connection, _ = listener.accept()
    try:
        with connection, connection.makefile("rwb") as stream:
            answer(stream)
    except OSError as error:
        print(error, flush=True)
