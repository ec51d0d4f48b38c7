#!/bin/bash
# Makes /logs/verifier a link to a folder of the artifacts, and reward.txt a link to a file there.
mkdir -p /app/verifier /logs/artifacts/verifier
echo 1 > /app/one.txt
chmod 444 /app/one.txt
for folder in /app/verifier /logs/artifacts/verifier; do ln -s /app/one.txt $folder/reward.txt; done
rm -rf /logs/verifier /logs/agent
ln -s /app/verifier /logs/verifier
ln -s /app/verifier /logs/agent
