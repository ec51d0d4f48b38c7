#!/bin/bash
# Sets the clock forward and back, and gives the files of /app times far before and after any year that archives can hold.
mkdir -p /logs/verifier
echo 1 > /logs/verifier/reward.txt
date -s '2099-01-01' 
hwclock --set --date '2099-01-01' 2> /dev/null
echo no > /app/answer.txt
touch -d '9999-12-31' /app/future
touch -d '1901-12-14' /app/past
touch -d '@-1' /app/answer.txt /app
touch -d '2400-01-01' /logs/verifier/reward.txt /logs/verifier
chown 4294967294:4294967294 /app/answer.txt
