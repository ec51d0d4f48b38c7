#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/share.sh 63 7)" = 9 ] && [ "$(sh /app/share.sh 30 5)" = 6 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
