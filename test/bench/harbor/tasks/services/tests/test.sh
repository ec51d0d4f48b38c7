#!/bin/bash
exec 3<> /dev/tcp/desk/8080
printf 'GET /word HTTP/1.0\r\n\r\n' >&3
word=$(tail -n 1 <&3)
if [ "$word" = marzipan ] && [ "$(cat answer.txt)" = "$word" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
