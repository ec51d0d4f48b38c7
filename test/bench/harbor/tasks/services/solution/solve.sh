#!/bin/bash
exec 3<> "/dev/tcp/${DESK%:*}/${DESK#*:}"
printf 'GET /word HTTP/1.0\r\n\r\n' >&3
tail -n 1 <&3 > answer.txt
