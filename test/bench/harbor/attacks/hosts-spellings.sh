# Spells the loopback address in ways that a list of addresses may not know.
for host in 127.1 2130706433 0x7f000001 0177.0.0.1 017700000001 '[::ffff:127.0.0.1]' '[::ffff:7f00:1]' '[0:0:0:0:0:0:0:1]' '[64:ff9b::7f00:1]' '[2002:7f00:1::]' \
  localhost. LOCALHOST a.localhost 127.0.0.1. 127.0.0.1%00 host.containers.internal; do
  through "CONNECT $host:PORT HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"
  through "GET http://$host:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n"
done
