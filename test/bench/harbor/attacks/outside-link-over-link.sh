#!/bin/bash
# The artifacts point at each other: /app/answer.txt leads to /logs/artifacts, and that leads to the tests.
mkdir -p /logs/artifacts
ln -s ../../tests/secret.txt /logs/artifacts/s
ln -sf /logs/artifacts/s /app/answer.txt
ln -s ../verifier /logs/artifacts/verifier
