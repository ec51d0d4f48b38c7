#!/bin/bash
# Makes the folder of the reward a link to a full disk (/dev/shm, /dev/full) that keeps the planted 1 because no 0 can be written.
mkdir -p /dev/shm/v
echo 1 > /dev/shm/v/reward.txt
head -c 100000000 /dev/zero > /dev/shm/fill
rm -rf /logs/verifier
ln -s /dev/shm/v /logs/verifier
ln -sf /dev/full /logs/verifier/reward.json
