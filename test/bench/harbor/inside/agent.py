"""
A coding agent without any library, for images with only the smallest Python: it asks its model for a command, runs it,
shows the result, and ends with the second answer. The second question is streamed.
"""
import os
import re
import socket
import subprocess
import sys

host, port = re.match(r"http://([^:/]+):(\d+)/v1$", os.environ["OPENAI_BASE_URL"]).groups()


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def message(role, text):
    return '{"role":%s,"content":%s}' % (quote(role), quote(text))


def ask(messages, stream):
    body = '{"model":"m","stream":%s,"messages":[%s]}' % (stream, ",".join(messages))
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: model\r\nConnection: close\r\nContent-Type: application/json\r\n"
    head += "Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (os.environ["OPENAI_API_KEY"], len(body.encode()))
    connection = socket.create_connection((host, int(port)))
    connection.sendall((head + body).encode())
    answer = b""
    while part := connection.recv(65536):
        answer += part
    text = answer.decode()
    if " 200 " not in text.split("\r\n")[0]:
        sys.exit(text)
    said = re.findall(r'"content":"((?:[^"\\]|\\.)*)"', text)
    return "".join(said).replace("\\n", "\n").replace('\\"', '"')


messages = [message("user", os.environ["AJET_QUERY"])]
command = ask(messages, "false")
result = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
messages += [message("assistant", command), message("user", "exit code %d\n%s" % (result.returncode, result.stdout))]
print(ask(messages, "true"))
