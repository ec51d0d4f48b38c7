#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/age.sh 44 6)" = 38 ] && [ "$(sh /app/age.sh 72 9)" = 63 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
