#!/bin/sh
if [ "$(cat /app/answer.txt)" = "$(printf 'marzipan\n4711')" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
