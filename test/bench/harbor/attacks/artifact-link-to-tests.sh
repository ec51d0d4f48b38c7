# The answer is a link to the secret.
ln -sf /tests/secret.txt /app/answer.txt
