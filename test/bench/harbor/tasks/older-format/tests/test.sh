#!/bin/bash
if [ "$(tr '\n' ' ' < /work/sorted.txt)" = "ant bee cat " ] && [ ! -e /work/notes.log ] && [ ! -e /work/cache ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
