"""Writes each line that it receives to a file."""

import socket

listener = socket.create_server(("0.0.0.0", 9000))
orders = open("/srv/orders.txt", "a", buffering=1)
while True:
    connection, _ = listener.accept()
    orders.write(connection.makefile("r").readline())
    connection.sendall(b"ordered\n")
    connection.close()
