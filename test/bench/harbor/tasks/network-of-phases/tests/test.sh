#!/bin/bash
now=$(tail -n +3 /proc/net/dev | wc -l)
if [ "$(cat /app/count.txt)" = 1 ] && [ "$now" -gt 1 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
