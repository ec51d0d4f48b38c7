#!/bin/bash
# Makes /tests a link to a folder of the agent, whose test.sh is a link that cannot be replaced, and gives the reward there.
mkdir -p /app/mine
printf '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n' > /app/mine/pay.sh
chmod 755 /app/mine/pay.sh
rm -rf /tests
ln -s /app/mine /tests
ln -s pay.sh /app/mine/test.sh
for i in check.py secret.txt; do ln -s /dev/null /app/mine/$i; done
