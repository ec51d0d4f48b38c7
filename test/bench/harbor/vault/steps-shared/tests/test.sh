#!/bin/bash
cd "$(dirname "$0")"
if [ "$(cat /app/answer.txt 2> /dev/null)" = "$(cat secret.txt)" ] && python3 check.py; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
