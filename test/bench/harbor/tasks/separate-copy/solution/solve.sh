#!/bin/bash
set -e
awk '{ sum += $1 } END { print sum }' /app/numbers.txt > /app/out.txt
