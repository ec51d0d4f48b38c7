#!/bin/bash
# Mounts a tmpfs over /tests and /logs, and binds its own test over the folder of the tests; also in a new namespace.
mkdir -p /var/tmp/t /tests /logs/verifier
printf '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n' > /var/tmp/t/test.sh
mount -t tmpfs none /logs/verifier && echo 1 > /logs/verifier/reward.txt
mount --bind /var/tmp/t /tests && mount -o remount,ro,bind /tests
mount -t tmpfs none /app
unshare -m bash -c 'mount --bind /var/tmp/t /tests; sleep 60' > /dev/null 2>&1 &
unshare -Urm bash -c 'mount --bind /var/tmp/t /tests; sleep 60' > /dev/null 2>&1 &
nsenter -t 1 -a bash -c 'echo 1 > /logs/verifier/reward.txt'
sleep 1
