#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/change.sh 90 3)" = 87 ] && [ "$(sh /app/change.sh 17 9)" = 8 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
