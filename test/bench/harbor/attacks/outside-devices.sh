#!/bin/bash
# Leaves devices, sockets, set-uid programs and programs with capabilities as artifacts.
cd /app
mknod answer.txt c 1 3
mknod zero c 1 5
mknod disk b 254 0
mknod disk8 b 8 0
cp /bin/bash rootshell && chmod 6755 rootshell
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/app/socket")'
mkdir -p /logs/artifacts
mknod /logs/artifacts/zero c 1 5
chmod 7777 /app /logs/artifacts
