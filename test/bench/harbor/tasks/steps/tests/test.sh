#!/bin/bash
# The step `count` has no tests, so it uses these. The tests of the other step replace this file.
if [ "$(cat /app/count.txt)" = 3 ] && [ ! -e /app/prepared ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
