#!/bin/bash
# Leaves twelve thousand files and a path that is longer than the system allows in /app, so that copying or checking it fails.
mkdir -p /logs/verifier
echo 1 > /logs/verifier/reward.txt
python3 - <<'END'
import os
os.makedirs('/app/many', exist_ok=True)
for i in range(12000): os.close(os.open('/app/many/%d' % i, os.O_CREAT))
os.chdir('/app')
for i in range(60):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
open('reward.txt', 'w').write('1')
END
