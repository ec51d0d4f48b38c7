#!/bin/sh
# Other numbers than those of the instruction, so printing a constant earns nothing.
if [ "$(sh /app/rest.sh 41 9)" = 32 ] && [ "$(sh /app/rest.sh 100 1)" = 99 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
