#!/bin/bash
[ "$(id -un)" = checker ] || exit 1
if [ "$(cat /home/worker/who.txt)" = worker ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
