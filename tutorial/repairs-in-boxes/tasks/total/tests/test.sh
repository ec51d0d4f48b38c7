#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/total.sh 50 8)" = 58 ] && [ "$(sh /app/total.sh 23 4)" = 27 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
