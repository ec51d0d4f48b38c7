#!/bin/bash
# Leaves processes that ignore every signal and start themselves again, and that change the artifacts while they are read.
cat > /var/tmp/again.sh <<'END'
#!/bin/bash
exec < /dev/null > /dev/null 2>&1
trap '' HUP TERM INT QUIT TSTP
trap '[ $SECONDS -lt 80 ] && setsid /var/tmp/again.sh &' EXIT
while [ $SECONDS -lt 80 ]; do
  echo no > /app/.n; mv -f /app/.n /app/answer.txt
  ln -s /tests/secret.txt /app/.l; mv -f /app/.l /app/answer.txt
  sleep 0.01
done
END
chmod 755 /var/tmp/again.sh
setsid /var/tmp/again.sh &
setsid /var/tmp/again.sh &
sleep 1
