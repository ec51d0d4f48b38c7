#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/rate.sh 81 9)" = 9 ] && [ "$(sh /app/rate.sh 12 4)" = 3 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
