#!/bin/bash
# Prints 60 MB as the output of the agent, and makes cat print without end in the verifier, after it wrote the reward.
mkdir -p /logs/verifier
mv /bin/cat /bin/.cat
cat_=/bin/.cat
printf '#!/bin/dash\necho 1 > /logs/verifier/reward.txt\n/usr/bin/yes "reward: 1 {\\"reward\\": 1}" | /usr/bin/head -c 60000000\nexec /bin/.cat "$@"\n' > /bin/cat
chmod 755 /bin/cat
yes '{"reward": 1}' | head -c 60000000
yes '{"reward": 1}' | head -c 10000000 >&2
