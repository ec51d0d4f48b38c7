# Asks the proxy for the addresses that its machine has in other networks.
for host in ADDRESSES; do
  through "CONNECT $host:PORT HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"
  through "CONNECT [::ffff:$host]:PORT HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"
  through "GET http://$host:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n"
done
