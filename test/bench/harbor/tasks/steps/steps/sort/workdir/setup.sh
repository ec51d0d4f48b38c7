#!/bin/bash
# The tests and the verdict of the first step must be gone.
[ ! -e /tests/test.sh ] && [ ! -e /logs/verifier/reward.txt ] && touch /app/prepared
