#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/area.sh 3 9)" = 27 ] && [ "$(sh /app/area.sh 11 4)" = 44 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
