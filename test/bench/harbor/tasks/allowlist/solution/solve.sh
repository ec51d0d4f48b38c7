#!/bin/bash
# The image has no curl. Without a network interface, the proxy is the only way out, and it refuses the host.
proxy=${http_proxy#http://}
exec 3<> "/dev/tcp/${proxy%:*}/${proxy#*:}"
printf 'GET http://192.0.2.11/ HTTP/1.1\r\nHost: 192.0.2.11\r\nConnection: close\r\n\r\n' >&3
read -r _ status _ <&3
echo "$status $(ls /sys/class/net)" > /app/status.txt
