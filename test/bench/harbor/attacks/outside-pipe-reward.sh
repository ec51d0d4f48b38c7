#!/bin/bash
# Makes reward.txt a named pipe; a process drains what the verifier writes and gives a 1 to each reader.
mkdir -p /logs/verifier
rm -f /logs/verifier/reward.txt
mkfifo /logs/verifier/reward.txt
setsid bash -c 'exec 7<> /logs/verifier/reward.txt; for i in $(seq 600); do timeout 0.05 dd bs=64 count=1 <&7 of=/dev/null; echo 1 >&7; sleep 0.1; done' > /dev/null 2>&1 < /dev/null &
sleep 1
