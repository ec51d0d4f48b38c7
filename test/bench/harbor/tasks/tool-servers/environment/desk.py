"""
A server of the Model Context Protocol with one tool: over stdio, or with a second argument over HTTP on that port. The image
has only the smallest Python, without json.
"""

import re
import socket
import sys

NAME = sys.argv[1]
ANSWERS = {"word": "marzipan", "number": "4711"}


def result_of(method, text):
    if method == "initialize":
        version = re.search(r'"protocolVersion": *("[^"]*")', text).group(1)
        info = '{"name": "%s", "version": "1"}' % NAME
        return '{"protocolVersion": %s, "capabilities": {"tools": {}}, "serverInfo": %s}' % (version, info)
    if method == "tools/list":
        return '{"tools": [{"name": "%s", "inputSchema": {"type": "object", "properties": {}}}]}' % NAME
    return '{"content": [{"type": "text", "text": "%s"}]}' % ANSWERS[NAME]


def answer(text):
    """Returns the answer to a message, or nothing if it is a notification."""
    number = re.search(r'"id": *(\d+)', text)
    if number is None:
        return ""
    method = re.search(r'"method": *"([^"]*)"', text).group(1)
    return '{"jsonrpc": "2.0", "id": %s, "result": %s}' % (number.group(1), result_of(method, text))


def serve(connection):
    stream = connection.makefile("rwb")
    method, length = stream.readline().split()[0], 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    body = answer(stream.read(length).decode())
    status = "405 No" if method != b"POST" else "200 OK" if body else "202 Accepted"
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    stream.write((head + body).encode())
    stream.flush()


if len(sys.argv) > 2:
    listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
    while True:
        connection, _ = listener.accept()
        try:
            with connection:
                serve(connection)
        except Exception as error:  # the connection broke off
            print(error, file=sys.stderr)
for line in sys.stdin:
    if said := answer(line):
        print(said, flush=True)
