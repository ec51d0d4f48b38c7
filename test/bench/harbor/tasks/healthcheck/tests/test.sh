#!/bin/bash
if [ "$(cat /app/ready)" = up ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
