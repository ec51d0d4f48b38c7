#!/bin/bash
set -e
call='{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "NAME", "arguments": {}}}'
text_of() { sed -n 's/.*"text": "\([^"]*\)".*/\1/p'; }
ask_clock() {
  exec 3<> /dev/tcp/127.0.0.1/8765
  printf 'POST /mcp HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s' "${#call}" "$call" >&3
  cat <&3
}
{
  echo "$call" | python3 /srv/desk.py word | text_of
  ask_clock | text_of
} > /app/answer.txt
