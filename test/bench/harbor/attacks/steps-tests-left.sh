# Looks in the second step for what the verifier of the first one left.
true
# second step
cp /tests/secret.txt /app/answer.txt
