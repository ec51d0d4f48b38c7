#!/bin/bash
# Puts a plain file, which is a program, in place of the folder of the artifacts, and removes the other artifact.
mkdir -p /logs/verifier
echo 1 > /logs/verifier/reward.txt
mv /app /app.old || rm -rf /app
printf '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n' > /app
chmod 755 /app
rm -rf /logs/artifacts
