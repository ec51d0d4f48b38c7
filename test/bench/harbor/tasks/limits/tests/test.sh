#!/bin/bash
if [ "$(cat /app/limit.txt)" = 201326592 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
