import { inFirstLanguage, type BoxLanguage } from './first-language.js';

/**
 * Programs that run inside of a box, in the languages that images have. Each listens on a free port of the box's own
 * loopback address and carries its connections over its standard input and output, in frames: the number of the
 * connection and the length of the bytes, 4 bytes each, then the bytes. No bytes end one direction. Connection 0 says
 * the port, and then repeats what it gets. The program ends with its standard input.
 */

const python = `
import os, socket, struct, threading
lock, socks, halves = threading.Lock(), {}, {}
def send(i, b):
    with lock:
        d = struct.pack('>II', i, len(b)) + b
        while d: d = d[os.write(1, d):]
def read(n):
    b = b''
    while len(b) < n:
        p = os.read(0, n - len(b))
        if not p: os._exit(0)
        b += p
    return b
def half(i):
    with lock:
        halves[i] = halves.get(i, 0) + 1
        if halves[i] == 2:
            halves.pop(i); socks.pop(i).close()
def pump(i, s):
    try:
        while True:
            b = s.recv(65536)
            if not b: break
            send(i, b)
    except OSError: pass
    send(i, b''); half(i)
def accept(l):
    i = 0
    while True:
        s, _ = l.accept(); i += 1; socks[i] = s
        threading.Thread(target=pump, args=(i, s), daemon=True).start()
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(128)
send(0, str(l.getsockname()[1]).encode())
threading.Thread(target=accept, args=(l,), daemon=True).start()
while True:
    i, n = struct.unpack('>II', read(8)); b = read(n); s = socks.get(i)
    if not i: send(0, b)
    if s is None: continue
    try:
        if n: s.sendall(b)
        else: s.shutdown(socket.SHUT_WR)
    except OSError: pass
    if not n: half(i)
`;

const node = `
const net = require('net'), socks = new Map(), none = Buffer.alloc(0);
let count = 0, rest = none;
const send = (i, b) => {
  const head = Buffer.alloc(8); head.writeUInt32BE(i, 0); head.writeUInt32BE(b.length, 4);
  process.stdout.write(Buffer.concat([head, b]));
};
const server = net.createServer({ allowHalfOpen: true }, (s) => {
  const i = ++count; let ended = false;
  const end = () => { if (!ended) send(i, none); ended = true; };
  socks.set(i, s);
  s.on('data', (b) => send(i, b)).on('end', end).on('error', () => {});
  s.on('close', () => { socks.delete(i); end(); });
});
server.listen(0, '127.0.0.1', () => send(0, Buffer.from(String(server.address().port))));
process.stdin.on('data', (b) => {
  for (rest = Buffer.concat([rest, b]); rest.length >= 8; ) {
    const i = rest.readUInt32BE(0), n = rest.readUInt32BE(4), s = socks.get(i);
    if (rest.length < 8 + n) break;
    if (i === 0) send(0, rest.subarray(8, 8 + n));
    if (s) n > 0 ? s.write(rest.subarray(8, 8 + n)) : s.end();
    rest = rest.subarray(8 + n);
  }
}).on('end', () => process.exit(0));
`;

const perl = `
use IO::Socket::INET; use IO::Select; $SIG{PIPE} = 'IGNORE';
my $l = IO::Socket::INET->new(Listen => 128, LocalAddr => '127.0.0.1', LocalPort => 0) or die $!;
my ($n, $rest, $all, %socks, %ids, %halves) = (0, '');
sub send_all { my ($h, $d) = @_; while (length $d) { my $w = syswrite $h, $d; defined $w or return; substr($d, 0, $w) = '' } }
sub frame { my ($i, $b) = @_; send_all(\\*STDOUT, pack('NN', $i, length $b) . $b) }
sub half { my $i = shift; if (++$halves{$i} == 2) { delete $halves{$i}; my $c = delete $socks{$i}; delete $ids{fileno $c}; $all->remove($c); close $c } }
frame(0, $l->sockport);
$all = IO::Select->new($l, \\*STDIN);
while (1) { for my $h ($all->can_read) {
  defined fileno $h or next;
  if ($h == $l) { my $c = $l->accept or next; $ids{fileno $c} = ++$n; $socks{$n} = $c; $all->add($c) }
  elsif (fileno $h == 0) {
    sysread(STDIN, $rest, 65536, length $rest) or exit;
    while (length $rest >= 8) {
      my ($i, $k) = unpack 'NN', $rest; last if length $rest < 8 + $k;
      my $b = substr $rest, 8, $k; substr($rest, 0, 8 + $k) = '';
      frame(0, $b) if $i == 0;
      my $c = $socks{$i} or next;
      if ($k) { send_all($c, $b) } else { shutdown $c, 1; half($i) }
    }
  } else {
    my $i = $ids{fileno $h}; my $k = sysread $h, my $b, 65536;
    if ($k) { frame($i, $b) } else { $all->remove($h); frame($i, ''); half($i) }
  }
} }
`;

/** A command that runs the first forwarder whose language the image has. `only` restricts them, for tests. */
export const forwarderCommand = (only?: readonly BoxLanguage[]): readonly string[] =>
  inFirstLanguage('forward', { python3: python, node, perl }, only && { only });
