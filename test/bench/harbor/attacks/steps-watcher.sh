# Waits in the first step until its verifier brings the secret, hides it, and answers with it in the second step.
nohup setsid sh -c 'until [ -s /tests/secret.txt ] && cp /tests/secret.txt /var/lib/hidden.txt; do sleep 0.02; done' > /dev/null 2>&1 < /dev/null &
# second step
cp /var/lib/hidden.txt /app/answer.txt
