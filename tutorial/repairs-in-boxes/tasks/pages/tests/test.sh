#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/pages.sh 15 4)" = 60 ] && [ "$(sh /app/pages.sh 7 7)" = 49 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
