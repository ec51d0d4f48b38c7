#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/sum.sh 41 9)" = 50 ] && [ "$(sh /app/sum.sh 100 1)" = 101 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
