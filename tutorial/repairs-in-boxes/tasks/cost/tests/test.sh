#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/cost.sh 8 3)" = 24 ] && [ "$(sh /app/cost.sh 12 7)" = 84 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
