#!/bin/bash
if [ "$(tr '\n' ' ' < /srv/sorted.txt)" = "ant bee cat " ] && [ ! -e /srv/notes.log ] && [ ! -e /srv/cache ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
