# Asks the proxy of allowed hosts for the loopback addresses of its machine, by tunnel and by address.
for host in 127.0.0.1 localhost 0.0.0.0 '[::1]' '[::]' 127.9.9.9; do
  through "CONNECT $host:PORT HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"
  through "GET http://$host:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n"
done
