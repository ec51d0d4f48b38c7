import type { HonestProgram } from './honest.js';

/** Programs like those that judges run: solutions, tests, and the features that they use. */
const programs: readonly Omit<HonestProgram, 'language'>[] = [
  { name: 'sums', code: 'print(sum(range(10_000_000)))', prints: '49999995000000' },
  {
    name: 'reads its input',
    code: 'import sys\nprint(sum(map(int, sys.stdin.read().split())))',
    stdin: '1 2\n3\n',
    prints: '6',
  },
  {
    name: 'runs tests of unittest',
    code: `
import io, unittest
class Sums(unittest.TestCase):
  def test_adds(self): self.assertEqual(1 + 1, 2)
  def test_fails(self):
    with self.assertRaises(ZeroDivisionError): 1 / 0
  def test_sub(self):
    for at in range(50):
      with self.subTest(at=at): self.assertEqual(at * 2, at + at)
result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(Sums))
print(result.testsRun, len(result.failures) + len(result.errors))`,
    prints: '3 0',
  },
  {
    name: 'collects tests as pytest does',
    code: `
import importlib.util, pathlib, traceback
pathlib.Path('test_sums.py').write_text('from sums import add\\ndef test_adds(): assert add(1, 2) == 3\\ndef test_fails(): assert add(1, 2) == 4\\n')
pathlib.Path('sums.py').write_text('def add(a, b): return a + b\\n')
import sys; sys.path.insert(0, '.')
spec = importlib.util.spec_from_file_location('test_sums', 'test_sums.py')
module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
for name in sorted(vars(module)):
  if name.startswith('test_'):
    try: getattr(module, name)(); print(name, 'passed')
    except AssertionError: print(name, 'failed')`,
    prints: 'test_adds passed\ntest_fails failed',
  },
  {
    name: 'runs its doctests',
    code: 'import doctest\ndef twice(x):\n  """\n  >>> twice(2)\n  4\n  """\n  return 2 * x\nprint(doctest.testmod())',
    prints: 'TestResults(failed=0, attempted=1)',
  },
  {
    name: 'runs a program',
    code: 'import subprocess\nprint(subprocess.run(["python3", "-c", "print(6 * 7)"], capture_output=True, text=True, check=True).stdout.strip())',
    prints: '42',
  },
  {
    name: 'runs a shell with pipes',
    code: "import subprocess\nprint(subprocess.check_output(\"printf 'b\\na\\n' | sort | tr -d '\\n'\", shell=True, text=True))",
    prints: 'ab',
  },
  {
    name: 'talks to a program',
    code: 'import subprocess\nchild = subprocess.Popen(["/usr/bin/sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\nprint(child.communicate("c\\na\\nb\\n")[0].split())',
    prints: "['a', 'b', 'c']",
  },
  {
    name: 'has a pool of processes',
    code: 'from multiprocessing import Pool\ndef square(x): return x * x\nif __name__ == "__main__":\n  with Pool(4) as pool: print(sum(pool.map(square, range(1000))))',
    prints: '332833500',
  },
  {
    name: 'has an executor of processes',
    code: 'from concurrent.futures import ProcessPoolExecutor\nif __name__ == "__main__":\n  with ProcessPoolExecutor(2) as pool: print(list(pool.map(abs, [-1, -2, 3])))',
    prints: '[1, 2, 3]',
  },
  {
    name: 'has a queue between processes',
    code: 'import multiprocessing\ndef put(queue): queue.put("x" * 100_000)\nif __name__ == "__main__":\n  queue = multiprocessing.Queue(); child = multiprocessing.Process(target=put, args=(queue,)); child.start()\n  print(len(queue.get())); child.join()',
    prints: '100000',
  },
  {
    name: 'has threads',
    code: 'import threading\nfound = []\nthreads = [threading.Thread(target=found.append, args=(at,)) for at in range(30)]\nfor thread in threads: thread.start()\nfor thread in threads: thread.join()\nprint(len(found))',
    prints: '30',
  },
  {
    name: 'has an executor of threads',
    code: 'from concurrent.futures import ThreadPoolExecutor\nimport time\nwith ThreadPoolExecutor() as pool: print(sum(pool.map(lambda x: (time.sleep(0.001), x)[1], range(300))))',
    prints: '44850',
  },
  {
    name: 'has a thread with a large stack',
    code: 'import sys, threading\nsys.setrecursionlimit(60_000)\nthreading.stack_size(128 << 20)\ndef deep(n): return 0 if n == 0 else 1 + deep(n - 1)\nthread = threading.Thread(target=lambda: print(deep(50_000))); thread.start(); thread.join()',
    prints: '50000',
  },
  {
    name: 'waits for tasks of asyncio',
    code: 'import asyncio\nasync def one(x):\n  await asyncio.sleep(0.001); return x\nasync def main(): print(sum(await asyncio.gather(*map(one, range(500)))))\nasyncio.run(main())',
    prints: '124750',
  },
  {
    name: 'runs a program with asyncio',
    code: 'import asyncio\nasync def main():\n  child = await asyncio.create_subprocess_exec("/bin/echo", "said", stdout=asyncio.subprocess.PIPE); print((await child.communicate())[0].decode().strip())\nasyncio.run(main())',
    prints: 'said',
  },
  {
    name: 'serves itself over HTTP',
    code: `
import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
  def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(self.path.encode())
  def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for at in range(20): said = urllib.request.urlopen('http://127.0.0.1:%d/%d' % (server.server_port, at)).read()
print(said.decode())`,
    prints: '/19',
  },
  {
    name: 'writes temporary files',
    code: 'import tempfile, os\nwith tempfile.TemporaryDirectory() as folder:\n  for at in range(500):\n    with open(os.path.join(folder, str(at)), "w") as file: file.write("x" * 1000)\n  print(len(os.listdir(folder)))',
    prints: '500',
  },
  {
    name: 'writes a large file',
    code: 'import os\nwith open("large", "wb") as file:\n  for _ in range(50): file.write(bytes(1_000_000))\nprint(os.path.getsize("large"))',
    prints: '50000000',
  },
  {
    name: 'has a data base',
    code: 'import sqlite3\nbase = sqlite3.connect("base.db")\nbase.execute("create table t (x)")\nbase.executemany("insert into t values (?)", [(at,) for at in range(10_000)])\nbase.commit()\nprint(base.execute("select sum(x) from t").fetchone()[0])',
    prints: '49995000',
  },
  {
    name: 'packs and unpacks',
    code: 'import gzip, zipfile\nwith zipfile.ZipFile("x.zip", "w") as packed: packed.writestr("a", "b" * 100_000)\nprint(len(zipfile.ZipFile("x.zip").read("a")), len(gzip.decompress(gzip.compress(bytes(1_000_000)))))',
    prints: '100000 1000000',
  },
  {
    name: 'opens many files',
    code: 'files = [open("f%d" % at, "w") for at in range(300)]\nprint(len(files))',
    prints: '300',
  },
  {
    name: 'needs 150 MB',
    code: 'taken = bytearray(150_000_000)\ntaken[::4096] = b"x" * len(taken[::4096])\nprint(len(taken))',
    prints: '150000000',
  },
  {
    name: 'makes a large table',
    code: 'table = [[0] * 1000 for _ in range(1000)]\nfor i in range(1000):\n  for j in range(1000): table[i][j] = i ^ j\nprint(sum(map(sum, table)))',
    prints: '511213536',
  },
  {
    name: 'prints much',
    code: 'for at in range(3000): print("line %d" % at)',
    prints: Array.from({ length: 3000 }, (_, at) => `line ${at}`).join('\n'),
  },
  {
    name: 'calculates with numpy, if it is there',
    code: 'try:\n  import numpy\n  print(int((numpy.ones((200, 200)) @ numpy.ones((200, 200))).sum()))\nexcept ImportError: print(8_000_000)',
    prints: '8000000',
  },
  {
    name: 'handles signals and timers',
    code: 'import signal\ndef ring(*_): print("rang")\nsignal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nsignal.pause()',
    prints: 'rang',
  },
  {
    name: 'reads its files and changes them',
    code: 'text = open("data/in.txt").read()\nopen("data/in.txt", "a").write("more")\nprint(text, open("data/in.txt").read())',
    files: { 'data/in.txt': 'given' },
    prints: 'given givenmore',
  },
];

export const honestPython: readonly HonestProgram[] = programs.map((program) => ({ ...program, language: 'python' }));
