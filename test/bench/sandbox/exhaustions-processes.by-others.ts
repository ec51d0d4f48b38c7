import type { SandboxCase } from './cases.js';
import { pythonExhaustion } from './python-case.js';

/** The cases of this file take processes, time and output. */
export const escapes: readonly SandboxCase[] = [];

export const exhaustions: readonly SandboxCase[] = [
  pythonExhaustion(
    'three hundred threads start',
    String.raw`
for _ in range(300):
    threading.Thread(target=time.sleep, args=(15,)).start()`,
  ),
  pythonExhaustion(
    'three hundred children sleep',
    String.raw`
for _ in range(300):
    if fork() == 0:
        time.sleep(15)
        os._exit(0)
time.sleep(15)`,
  ),
  pythonExhaustion(
    'orphans in their own sessions compute after the end',
    String.raw`
for _ in range(8):
    if fork() == 0:
        os.setsid()
        if fork() == 0:
            os.closerange(0, 100)
            while going():
                pass
        os._exit(0)`,
  ),
  pythonExhaustion(
    'a child without a parent keeps the output open',
    String.raw`
if fork() == 0:
    os.setsid()
    while going():
        time.sleep(0.2)
    os._exit(0)
print('done')
os._exit(0)`,
  ),
  pythonExhaustion(
    'each process starts the next one and ends',
    String.raw`
for number in range(290):
    time.sleep(0.02)
    if fork() != 0:
        os._exit(0)
    os.setsid()
while going():
    pass`,
  ),
  pythonExhaustion(
    'all signals are ignored in an endless loop',
    String.raw`
signal.alarm(0)
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while going():
    pass`,
  ),
  pythonExhaustion('the program stops itself', String.raw`os.kill(os.getpid(), signal.SIGSTOP)`),
  pythonExhaustion(
    'the program waits for input that never comes',
    String.raw`sys.stdin.read(); pair = socket.socketpair(); pair[0].recv(1)`,
  ),
  pythonExhaustion(
    'the program never finishes its end',
    String.raw`
import atexit
def slow():
    while going():
        pass
atexit.register(slow)`,
  ),
  pythonExhaustion(
    'four children compute at once',
    String.raw`
for _ in range(4):
    if fork() == 0:
        while going():
            pass
os.wait()`,
  ),
  pythonExhaustion('a regular expression backtracks', String.raw`__import__('re').match('(a|a|aa)+$', 'a' * 40 + 'b')`),
  pythonExhaustion('a sum in C does not end', String.raw`import itertools; sum(itertools.repeat(1, 10 ** 10))`),
  pythonExhaustion(
    'a big integer is printed',
    String.raw`sys.set_int_max_str_digits(0); print(len(str(7 ** (10 ** 8))))`,
  ),
  pythonExhaustion('keys of a dictionary collide', String.raw`{n * (2 ** 61 - 1): n for n in range(200_000)}`),
  pythonExhaustion(
    'functions call themselves through C',
    String.raw`
sys.setrecursionlimit(10 ** 9)
class Deep:
    def __getattr__(self, name):
        return getattr(self, name + 'x')
Deep().a`,
  ),
  pythonExhaustion(
    'an expression is nested a million times',
    String.raw`eval('-' * 1_000_000 + '1'); compile('(' * 10 ** 6, 'a', 'eval')`,
  ),
  pythonExhaustion(
    'tasks start tasks in an event loop',
    String.raw`
import asyncio
kept = []
async def start():
    kept.append(bytearray(500))
    if going() and len(kept) < 700_000:
        kept.extend([asyncio.create_task(start()), asyncio.create_task(start())])
    await asyncio.sleep(15)
asyncio.run(start())`,
  ),
  pythonExhaustion(
    'output is written by four children at once',
    String.raw`
for _ in range(4):
    fork()
written = 0
while going() and written < 100 << 20:
    written += os.write(1, b'x' * 65536)`,
  ),
  pythonExhaustion(
    'errors have no end of line',
    String.raw`
for _ in range(2000):
    sys.stderr.write('e' * (1 << 20))`,
  ),
  pythonExhaustion('the error is very long', String.raw`raise ValueError('x' * (100 << 20))`),
  pythonExhaustion(
    'programs are started one after another',
    String.raw`
import subprocess
started = 0
while going() and started < 20_000:
    subprocess.run(['/bin/true'])
    started += 1`,
  ),
];
