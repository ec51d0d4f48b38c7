"""Writes each line that it receives to a file. Survives connections that break off."""

import socket

listener = socket.create_server(("0.0.0.0", 9000))
orders = open("/srv/orders.txt", "a", buffering=1)
while True:
    connection, _ = listener.accept()
    try:
        with connection, connection.makefile("r") as stream:
            orders.write(stream.readline())
            connection.sendall(b"ordered\n")
    except OSError as error:
        print(error, flush=True)
