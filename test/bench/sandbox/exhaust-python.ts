import type { SandboxCase } from './cases.js';

/** Starts processes that each run \`body\`, and waits. The number is limited, so that no machine is endangered. */
function forks(count: number, body: string): string {
  return `
import os, time
for at in range(${count}):
  try:
    if os.fork() == 0:
      ${body}
      time.sleep(60)
  except OSError: pass
time.sleep(60)`;
}

/** Fills one file after another, and continues after a failure. */
function fills(folder: string, name = '/x%d'): string {
  return `
import time
for at in range(200):
  try:
    with open("${folder}${name}" % at, "wb") as file:
      for _ in range(50): file.write(bytes(1_000_000))
  except OSError: pass
time.sleep(60)`;
}

const codes: Readonly<Record<string, string>> = {
  bytes: 'all = []\nwhile True: all.append(bytearray(10_000_000))',
  'bytes after a failure': 'all = []\nwhile True:\n  try: all.append(bytearray(1_000_000))\n  except MemoryError: pass',
  'a list of numbers': 'all = []\nat = 0\nwhile True:\n  all.append(at); at += 1',
  'one string': 'text = "ab"\nwhile True: text += text',
  'a large number': 'number = 3\nwhile True: number *= number',
  'memory of few processes': forks(5, 'taken = bytearray(50_000_000)'),
  'memory of many processes': forks(60, 'taken = bytearray(10_000_000)'),
  'memory of orphans': forks(
    20,
    'os.setsid()\n      if os.fork() > 0: os._exit(0)\n      taken = bytearray(30_000_000)',
  ),
  'memory of programs':
    'import subprocess, time\nrun = ["python3", "-c", "import time; taken = bytearray(40_000_000); time.sleep(60)"]\nall = [subprocess.Popen(run) for _ in range(10)]\ntime.sleep(60)',
  'memory of threads':
    'import threading, time\ndef take(): taken = bytearray(10_000_000); time.sleep(60)\nfor _ in range(40):\n  try: threading.Thread(target=take).start()\n  except RuntimeError: pass\ntime.sleep(60)',
  'memory without a file, shared':
    'import mmap, time\nall = []\nfor _ in range(30):\n  try: part = mmap.mmap(-1, 20_000_000); part.write(bytes(20_000_000)); all.append(part)\n  except OSError: pass\ntime.sleep(60)',
  'memory without a file, private':
    'import mmap, time\nall = []\nfor _ in range(30):\n  try: part = mmap.mmap(-1, 20_000_000, flags=mmap.MAP_PRIVATE); part.write(bytes(20_000_000)); all.append(part)\n  except OSError: pass\ntime.sleep(60)',
  'memory that is shared by name':
    'from multiprocessing import shared_memory\nimport time\nall = []\nfor _ in range(30):\n  try: part = shared_memory.SharedMemory(create=True, size=20_000_000); part.buf[:] = bytes(20_000_000); all.append(part)\n  except OSError: pass\ntime.sleep(60)',
  'memory of a descriptor':
    'import os, time\nfor _ in range(30):\n  try: os.write(os.memfd_create("x"), bytes(20_000_000))\n  except OSError: pass\ntime.sleep(60)',
  'segments of System V':
    'import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\nfor _ in range(30):\n  number = libc.shmget(0, 20_000_000, 0o1600)\n  if number >= 0:\n    address = libc.shmat(number, None, 0); ctypes.memset(address, 1, 20_000_000); libc.shmdt(ctypes.c_void_p(address))\ntime.sleep(60)',
  'its limits of memory':
    'import resource\nfor name in (resource.RLIMIT_AS, resource.RLIMIT_DATA):\n  try: resource.setrlimit(name, (-1, -1))\n  except (ValueError, OSError): pass\nall = []\nwhile True: all.append(bytearray(10_000_000))',
  'files in /tmp': fills('/tmp'),
  'files in /dev/shm': fills('/dev/shm'),
  'files in /work': fills('/work'),
  'files in all folders': `folders = ("/tmp", "/dev/shm", "/work")\nfor at in range(90):\n  try:\n    with open(folders[at % 3] + "/x%d" % at, "wb") as file: file.write(bytes(5_000_000))\n  except OSError: pass\nimport time; time.sleep(60)`,
  'files in the root': fills('', '/x%d'),
  'files in /dev': fills('/dev'),
  'empty files':
    'import time\ntry:\n  for at in range(3_000_000): open("/tmp/%d" % at, "w").close()\nexcept OSError: pass\ntime.sleep(60)',
  'deep folders': 'import os\nos.chdir("/tmp")\nwhile True:\n  os.mkdir("d" * 200); os.chdir("d" * 200)',
  'files that were removed':
    'import os, time\nall = []\nfor at in range(300):\n  try: file = open("/work/x%d" % at, "wb"); os.remove("/work/x%d" % at); file.write(bytes(1_000_000)); all.append(file)\n  except OSError: pass\ntime.sleep(60)',
  'buffers of sockets':
    'import os, socket, time\nfor at in range(8):\n  if os.fork() == 0: break\nall = []\ntry:\n  while True:\n    pair = socket.socketpair(); pair[0].setblocking(False); all.append(pair)\n    try:\n      while True: pair[0].send(bytes(100_000))\n    except BlockingIOError: pass\nexcept OSError: pass\ntime.sleep(60)',
  'buffers of pipes':
    'import fcntl, os, time\nall = []\ntry:\n  while True:\n    ends = os.pipe(); os.set_blocking(ends[1], False); all.append(ends)\n    try: fcntl.fcntl(ends[1], 1031, 1 << 20)\n    except OSError: pass\n    try:\n      while True: os.write(ends[1], bytes(65_536))\n    except BlockingIOError: pass\nexcept OSError: pass\ntime.sleep(60)',
  'an archive that expands':
    'import zlib\npacked = zlib.compress(bytes(100_000_000))\nall = []\nwhile True: all.append(zlib.decompress(packed))',
  processes: forks(1000, 'pass'),
  'processes of processes':
    'import os, time\nfor _ in range(9):\n  try: os.fork()\n  except OSError: pass\ntime.sleep(60)',
  threads:
    'import threading, time\nthreading.stack_size(65_536)\nfor _ in range(1000):\n  try: threading.Thread(target=time.sleep, args=(60,)).start()\n  except RuntimeError: pass\ntime.sleep(60)',
  'a loop': 'while True: pass',
  'loops of many processes': forks(12, 'while True: pass'),
  'a loop that ignores signals':
    'import signal\nfor number in range(1, 65):\n  try: signal.signal(number, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nwhile True: pass',
  'sleep in another session':
    'import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    for number in (0, 1, 2): os.close(number)\n    time.sleep(60)\n  os._exit(0)\ntime.sleep(0.2)',
  'a child that holds the output': 'import subprocess\nsubprocess.Popen(["/usr/bin/sleep", "60"])\nprint("done")',
  'a search that never ends': 'import re\nre.match("(x+x+)+y", "x" * 5000)',
  output: 'while True: print("x" * 100_000)',
  'output of a child': 'import subprocess\nsubprocess.run(["/usr/bin/yes"])',
  errors: 'import sys\nwhile True: sys.stderr.write("x" * 100_000)',
  'open files':
    'import os, time\nall = []\ntry:\n  while True: all.append(os.open("/dev/null", os.O_RDONLY))\nexcept OSError: pass\nprint("over" if len(all) > 512 else "kept")\ntime.sleep(60)',
  'one long file': 'with open("/tmp/x", "wb") as file:\n  file.truncate(1 << 40)',
};

export const exhaustionsOfPython: readonly SandboxCase[] = Object.entries(codes).map(([name, code]) => ({
  name,
  language: 'python',
  code: code.trim(),
}));
