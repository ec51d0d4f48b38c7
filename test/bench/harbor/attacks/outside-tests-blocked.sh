#!/bin/bash
# Makes the copy of the tests fail: /tests is a file and then a folder with folders in place of the files; the reward is already there.
mkdir -p /tests /logs/verifier
for name in test.sh check.py secret.txt; do mkdir -p /tests/$name/full; done
echo 1 > /logs/verifier/reward.txt
chmod 000 /tests
