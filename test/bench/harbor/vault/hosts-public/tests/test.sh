#!/bin/bash
cd "$(dirname "$0")"
if python3 check.py && [ "$(cat /app/answer.txt 2> /dev/null)" = "$(cat secret.txt)" ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
