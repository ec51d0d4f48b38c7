import { Duplex, type Readable } from 'node:stream';
import { SandboxError } from '../code-runner.js';
import type { Box } from './box.js';
import { inFirstLanguage, noLanguage, type BoxLanguage } from './first-language.js';
import { NoLanguage } from './forward-port.js';

/**
 * Programs that connect to a host and a port from inside of a box, and carry the connection over their standard input and
 * output. A plus sign says that the connection is open. A program ends with its connection or its standard input.
 */

const python = `
import os, socket, sys, threading
try: s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 30)
except OSError as e: sys.exit(str(e))
s.settimeout(None); os.write(1, b'+')
def pump():
    while True:
        b = os.read(0, 65536)
        if not b: os._exit(0)
        s.sendall(b)
threading.Thread(target=pump, daemon=True).start()
while True:
    b = s.recv(65536)
    if not b: os._exit(0)
    while b: b = b[os.write(1, b):]
`;

const node = `
const fail = (e) => { console.error(e.message); process.exit(1); };
const s = require('net').connect(+process.argv[2], process.argv[1], () => {
  process.stdout.write('+'); s.pipe(process.stdout); process.stdin.pipe(s);
  process.stdin.on('end', () => process.exit(0));
});
s.on('error', fail);
`;

const perl = `
use IO::Socket::INET; use IO::Select; $SIG{PIPE} = 'IGNORE';
my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => $ARGV[1], Timeout => 30) or die "$@\\n";
syswrite STDOUT, '+';
my $all = IO::Select->new($s, \\*STDIN);
while (1) { for my $h ($all->can_read) {
  sysread($h, my $b, 65536) or exit;
  my $o = $h == $s ? \\*STDOUT : $s;
  while (length $b) { my $w = syswrite $o, $b; defined $w or exit 1; substr($b, 0, $w) = '' }
} }
`;

export const dialerCommand = (host: string, port: number, only?: readonly BoxLanguage[]): readonly string[] =>
  inFirstLanguage('dial', { python3: python, node, perl }, { args: [host, String(port)], ...(only && { only }) });

/** Connects to a host and a port with the network of a box. Rejects with SandboxError, or with NoLanguage. */
export async function dialFromBox(box: Box, host: string, port: number): Promise<Duplex> {
  const talk = box.talk(dialerCommand(host, port), { user: 0, cwd: '/' });
  const said = await Promise.race([isOpen(talk.stdout), talk.ended]);
  if (said !== true) {
    await talk.close();
    if (said === noLanguage)
      throw new NoLanguage(
        'unavailable',
        'The image has none of python3, node and perl, so no port of it can be reached.',
      );
    throw new SandboxError('failed', `${host}:${port} cannot be reached from the box: ${said}`);
  }
  const stream = Duplex.from({ readable: talk.stdout, writable: talk.stdin });
  return stream.on('error', () => undefined).once('close', () => void talk.close());
}

/** Resolves when the first byte has arrived, which is not part of the connection. */
function isOpen(stdout: Readable): Promise<true> {
  return new Promise((resolve) =>
    stdout.once('data', (bytes: Buffer) => {
      stdout.pause();
      if (bytes.length > 1) stdout.unshift(bytes.subarray(1));
      resolve(true);
    }),
  );
}
