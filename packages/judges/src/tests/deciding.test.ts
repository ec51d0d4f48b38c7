import { JudgeError } from '@agentjet/core';
import { openCodeRunner, type CodeRunner, type Language } from '@agentjet/sandbox';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestsJudge } from './tests-judge.js';

/** Shows that the program never decides. Each program comes with the test that a task would have for it. */

/** Long enough for a busy machine. It only ends programs that hang. */
const ampleSeconds = 120;

type Programs = Readonly<Record<string, readonly [program: string, test: string]>>;

const pythonCheats: Programs = {
  'raises StopAsyncIteration outside of a loop step': [
    'async def square(x): raise StopAsyncIteration',
    'import asyncio\nasync def squares():\n  for x in [1, 2]: assert await square(x) == x * x\n  yield 1\nasync def main(): return [x async for x in squares()]\nasyncio.run(main())',
  ],
  'overwrites check.py': ['open("check.py", "w").write("")', 'assert add(1, 2) == 3'],
  'replaces open': ['import builtins, io\nbuiltins.open = lambda *a, **k: io.StringIO("")', 'assert add(1, 2) == 3'],
  'answers __eq__': [
    'class Yes:\n  def __eq__(self, other): return True\ndef add(*a): return Yes()',
    'assert add(1, 2) == 3',
  ],
  'reads what the test knows from its frame': [
    'import sys\ndef add(a, b): return sys._getframe(1).f_globals["expected"]',
    'expected = 3\nassert add(1, 2) == expected',
  ],
  'answers operators': [
    'class Any:\n  def __sub__(self, other): return 0\n  def __lt__(self, other): return True\ndef half(x): return Any()',
    'assert abs(half(3) - 1.5) < 1e-9',
  ],
  'makes the function a class': [
    'class add:\n  def __init__(self, *a): pass\n  def __eq__(self, other): return True\n  def __sub__(self, other): return 0',
    'assert add(1, 2) == 3 or abs(add(1, 2) - 3) < 1e-9',
  ],
  'returns the object that the test made': [
    'class Solution:\n  def add(self, a, b): return self\n  def __eq__(self, other): return True',
    'solution = Solution()\nassert solution.add(1, 2) == 3',
  ],
  'ends a loop of the test with StopIteration': [
    'def square(x): raise StopIteration',
    'assert all(map(lambda x: square(x) == x * x, [1, 2]))',
  ],
  'defines a function that the test calls': [
    'def all(xs): return True\ndef square(x): return 0',
    'assert all(square(x) == x * x for x in [1, 2])',
  ],
  'answers a search': [
    'class All:\n  def __getattr__(self, name): return lambda *a: True\ndef greet(): return All()',
    'assert greet().startswith("Hello")',
  ],
  'ends its process': ['import os\ndef add(a, b): os._exit(0)', 'assert add(1, 2) == 3'],
  'never answers': ['def add(a, b):\n  while True: pass', 'assert add(1, 2) == 3'],
  'writes a conclusion itself': [
    'import os\nfor fd in range(3, 20):\n  try: os.write(fd, b\'!["passed", ""]\\n\')\n  except OSError: pass',
    'assert add(1, 2) == 3',
  ],
  'answers with what is not a message': [
    'import os\nfor fd in range(3, 20):\n  try: os.write(fd, b\'{"r": ["l", 1, [\' * 9000 + b"\\n")\n  except OSError: pass',
    'assert add(1, 2) == 3',
  ],
  'swallows an assertion of the test': [
    'class Thing:\n  def __enter__(self): return self\n  def __exit__(self, *error): return True\ndef made(): return Thing()',
    'with made() as thing:\n  assert thing is None',
  ],
  'catches an assertion in a callback of the test': [
    'def each(f, xs):\n  try: f(0)\n  except BaseException: pass',
    'def check(x): assert x == 1\neach(check, [1])',
  ],
  'makes a function that the test imports a class': [
    'class add:\n  def __init__(self, *a): pass\n  def __eq__(self, other): return True\ndef all(xs): return True',
    'from solution import add\nassert all(add(x, 1) == x + 1 for x in [1])',
  ],
  'leaves with an exit that looks like success': ['def add(a, b): raise SystemExit(0)', 'assert add(1, 2) == 3'],
};

const pythonHonest: Programs = {
  'parameters with the names of the bridge': [
    'class Solution:\n  def find(self, nums, target, op=0, cls=0): return [nums.index(target), op, cls]\ndef call(self, target, op, args, kwargs, name): return [self, target, op, args, kwargs, name]',
    'assert Solution().find(nums=[3, 2], target=2, op=1, cls=2) == [1, 1, 2]\nassert call(self=1, target=2, op=3, args=4, kwargs=5, name=6) == [1, 2, 3, 4, 5, 6]',
  ],
  'asynchronous generators': [
    'async def count(n):\n  for i in range(n): yield i\nclass Ticks:\n  def __init__(self, n): self.n = n\n  def __aiter__(self): return self\n  async def __anext__(self):\n    if self.n == 0: raise StopAsyncIteration\n    self.n -= 1\n    return self.n',
    'import asyncio\nasync def main(): return [x async for x in count(3)] + [x async for x in Ticks(2)]\nassert asyncio.run(main()) == [0, 1, 2, 1, 0]',
  ],
  'an error of a module that the test does not import': [
    'import json\nfrom dataclasses import dataclass\n@dataclass(frozen=True)\nclass Point:\n  x: int\ndef read(text): return json.loads(text)',
    'p = Point(1)\ntry:\n  p.x = 5\n  raise Exception("set")\nexcept AttributeError as error:\n  assert "x" in str(error)\ntry:\n  read("{")\n  raise Exception("read")\nexcept ValueError: pass',
  ],
  'a class with state and its own error': [
    'class Broke(Exception):\n  def __init__(self, need): super().__init__(f"need {need}"); self.need = need\n' +
      'class Account:\n  def __init__(self): self.balance = 0\n  def add(self, n): self.balance += n; return self\n' +
      '  def draw(self, n):\n    if n > self.balance: raise Broke(n - self.balance)\n    self.balance -= n',
    'a = Account()\nassert a.add(2).add(3) is a and a.balance == 5\ntry:\n  a.draw(9)\n  assert False\nexcept Broke as error:\n  assert error.need == 4 and str(error) == "need 4"',
  ],
  'operators between objects of the program': [
    'class V:\n  def __init__(self, x): self.x = x\n  def __add__(self, o): return V(self.x + o.x)\n  def __mul__(self, k): return V(self.x * k)\n  def __eq__(self, o): return self.x == o.x\nVector = V',
    'assert Vector(1) + Vector(2) == Vector(3) and Vector(2) * 3 == Vector(6) and Vector(1) != Vector(2)',
  ],
  'generators, step by step': [
    'def naturals():\n  n = 0\n  while True:\n    yield n\n    n += 1',
    'import itertools\nassert list(itertools.islice(naturals(), 3)) == [0, 1, 2]\nsteps = naturals()\nassert next(steps) == 0 and next(steps) == 1',
  ],
  'callbacks, changed arguments and errors of the test': [
    'def each(f, xs):\n  for at, x in enumerate(xs): xs[at] = f(x)',
    'xs = [1, 2]\neach(lambda x: x * 2, xs)\nassert xs == [2, 4]\nclass Mine(Exception): pass\ndef bad(x): raise Mine("x")\ntry:\n  each(bad, xs)\n  assert False\nexcept Mine as error: assert str(error) == "x"',
  ],
  'values of every kind': [
    'def same(x): return x',
    'import math\nvalues = [2 ** 200, -0.0, math.inf, True, None, "é", b"x", (1, [2]), {1, (2, 3)}, {(1, 2): {None: 3}}, frozenset([1]), 1j]\nassert same(values) == values and [type(x) for x in same(values)] == [type(x) for x in values]\nassert same(values) is values and math.isnan(same(math.nan)) and math.copysign(1, same(-0.0)) == -1',
  ],
  'an object that the test made, compared with a value': [
    'class Money:\n  def __init__(self, n): self.n = n\n  def __eq__(self, o): return self.n == o\n  def __add__(self, n): return Money(self.n + n)',
    'money = Money(5)\nassert money.n == 5 and money == 5 and money + 1 == 6 and money != 4',
  ],
  'an ordered dict, slices and a name of the language': [
    'from collections import OrderedDict\nd = OrderedDict(a=1, b=2)\nclass L:\n  def __getitem__(self, at): return [1, 2, 3][at]\ndef touch(k): d.move_to_end(k)',
    'touch("a")\nassert list(d) == ["b", "a"] and L()[0:2] == [1, 2] and L()[-1] == 3',
  ],
  'expected errors of a test case': [
    'def parse(text): return int(text)',
    'import unittest\nclass T(unittest.TestCase):\n  def test_parse(self):\n    self.assertEqual(parse("7"), 7)\n    with self.assertRaises(ValueError): parse("x")\nunittest.main()',
  ],
};

const pythonRefused: Programs = {
  'derives T from the program': ['class Base: pass', 'class T(Base): pass\nassert T()'],
  'reads __code__': ['def f(): pass', 'assert f.__code__.co_argcount == 0'],
  'replaces f of the program': ['def f(): pass', 'import solution\nsolution.f = None'],
  'patches random.random': ['def f(): pass', 'from unittest.mock import patch\nwith patch("random.random"): f()'],
  'uses files': ['def f(path): pass', 'open("x", "w").write("1")\nf("x")'],
  'imports pytest': ['def f(): pass', 'import pytest\nwith pytest.raises(ValueError): f()'],
  'is not Python': ['def f(): pass', 'assert f( =='],
};

const javascriptCheats: Programs = {
  'fails console.assert': ['console.assert = () => {}; const add = () => 0', 'console.assert(add(1, 2) === 3)'],
  'catches what require("assert") throws in a callback': [
    'const each = (xs, f) => { for (const x of xs) try { f(x) } catch {} }',
    'const assert = require("node:assert"); each([1], (x) => assert.strictEqual(x, 2))',
  ],
  'defines require and assert': [
    'globalThis.require = () => new Proxy(() => {}, { get: () => () => {} }); const sort = (xs) => xs',
    'const { deepEqual } = require("assert"); deepEqual(sort([2, 1]), [1, 2])',
  ],
  'catches console.assert in a callback': [
    'const each = (xs, f) => { for (const x of xs) try { f(x) } catch {} }',
    'each([1], (x) => console.assert(x === 2))',
  ],
  'redefines every': [
    'Array.prototype.every = () => true; const square = () => 0;',
    'if (![1, 2].every((x) => square(x) === x * x)) throw new Error("square")',
  ],
  'redefines how arrays are iterated': [
    'Array.prototype[Symbol.iterator] = function* () {}; const square = () => 0;',
    'for (const x of [1, 2]) if (square(x) !== x * x) throw new Error("square")',
  ],
  'redefines JSON.stringify': [
    'JSON.stringify = () => "1"; const pair = () => 0;',
    'if (JSON.stringify(pair()) !== JSON.stringify([1, 2])) throw new Error("pair")',
  ],
  'answers a search': [
    'const divisors = () => ({ includes: () => true, every: () => true });',
    'if (!divisors(9).includes(3)) throw new Error("divisors")',
  ],
  'hides an error in a promise': [
    'const get = async () => 0;',
    '(async () => { if ((await get()) !== 1) throw new Error("get") })()',
  ],
  'never settles': ['const get = () => new Promise(() => {});', 'await get();'],
  'never answers': ['function add() { for (;;); }', 'if (add(1, 2) !== 3) throw new Error("add")'],
  'reaches for what decides': [
    'const add = (f) => { f.constructor("throw 1")(); return 3 };',
    'if (add(() => 3) !== 3) throw new Error("add")',
  ],
  'changes the arrays of the test through a callback': [
    'const run = (f) => { Object.getPrototypeOf(f).call = () => 1; f.__proto__.x = 1; return 0 };',
    'if (run(() => 1) !== 1 || (() => 1).x !== undefined) throw new Error("run")',
  ],
};

const javascriptHonest: Programs = {
  'tests that use console.assert': [
    'const add = (a, b) => a + b; console.assert(true)',
    'console.assert(add(1, 2) === 3, "add"); console.assert(add("a", "b") === "ab")',
  ],
  'tests that use require("assert")': [
    'class Broke extends Error { name = "Broke" }; class Pair { constructor(a, b) { this.a = a; this.b = b } }\nconst pair = (a, b) => new Pair(a, b); const same = (x) => x; const broke = () => { throw new Broke("so") }; const late = async () => broke()',
    'const assert = require("node:assert");\nassert(same(1)); assert.equal(same("1"), 1); assert.deepEqual(same([1, "2", { a: [NaN] }]), [1, 2, { a: [NaN] }]); assert.notDeepStrictEqual(same([1]), ["1"]);\n' +
      'assert.deepStrictEqual(same(new Map([["k", new Set([1, [2]])]])), new Map([["k", new Set([[2], 1])]])); assert.deepStrictEqual(pair(1, [2]), pair(1, [2])); assert.notDeepEqual(pair(1, 2), pair(1, 3));\n' +
      'assert.throws(() => broke(), Broke); assert.throws(broke, /so/); assert.throws(broke, { name: "Broke", message: "so" }); assert.throws(broke, (error) => error instanceof Broke); assert.doesNotThrow(() => same(1));\n' +
      'await assert.rejects(late(), Broke); assert.match(same("abc"), /b/); assert.strict.equal(same(NaN), NaN)',
  ],
  'a class with state and its own error': [
    'class Broke extends Error { constructor(need) { super(`need ${need}`); this.need = need } }\nclass Account { balance = 0; add(n) { this.balance += n; return this } draw(n) { if (n > this.balance) throw new Broke(n - this.balance) } }',
    'const a = new Account(); if (a.add(2).add(3) !== a || a.balance !== 5 || !(a instanceof Account)) throw new Error("add");\nlet error; try { a.draw(9) } catch (thrown) { error = thrown }\nif (!(error instanceof Broke) || error.need !== 4 || error.message !== "need 4") throw new Error("draw")',
  ],
  'generators, callbacks and changed arguments': [
    'function* naturals() { for (let n = 0; ; n++) yield n }\nconst each = (f, xs) => { for (let at = 0; at < xs.length; at++) xs[at] = f(xs[at]) }',
    'const seen = []; for (const n of naturals()) { if (n > 2) break; seen.push(n) }\neach((x) => x * 2, seen); if (seen.join() !== "0,2,4") throw new Error(seen.join())',
  ],
  'values of every kind': [
    'const same = (x) => x;',
    'const values = [NaN, -0, Infinity, 2n ** 70n, undefined, null, "é", new Map([[{ a: 1 }, new Set([1])]]), new Uint8Array([1])];\nif (same(values) !== values) throw new Error("identity");\nconst [nan, zero, inf, big, none] = same([...values]);\nif (!Number.isNaN(nan) || !Object.is(zero, -0) || inf !== Infinity || big !== 2n ** 70n || none !== undefined) throw new Error("values")',
  ],
  'many calls, and a container that only the program keeps': [
    'class Node { constructor(x) { this.x = x; this.kids = [] } sum() { return this.kids.reduce((sum, kid) => sum + kid.sum(), this.x) } }\nconst add = (xs) => xs[0] + xs[1]',
    'const root = new Node(1); root.kids.push(new Node(2)); if (root.sum() !== 3) throw new Error("sum");\nfor (let at = 0; at < 300; at++) if (add([at, 1]) !== at + 1) throw new Error("add")',
  ],
  'promises in both directions': [
    'const each = async (f, xs) => { const out = []; for (const x of xs) out.push(await f(x)); return out };',
    'const out = await each(async (x) => { await null; return x + 1 }, [1, 2]); if (out.join() !== "2,3") throw new Error(out.join())',
  ],
};

const javascriptRefused: Programs = {
  'derives a class from the program': ['class Base {}', 'class T extends Base {}'],
  'calls require': ['const f = 1;', 'const fs = require("fs"); if (fs.readFileSync("x") !== f) throw 1'],
  'calls assert': ['globalThis.assert = () => {}', 'assert(1 === 2)'],
  'is not JavaScript': ['const f = 1;', 'if (f ==='],
};

const suites = [
  { language: 'python', cheats: pythonCheats, honest: pythonHonest, refused: pythonRefused },
  { language: 'javascript', cheats: javascriptCheats, honest: javascriptHonest, refused: javascriptRefused },
] as const;

function openOrSay(language: Language): CodeRunner | string {
  try {
    return openCodeRunner(language);
  } catch (error) {
    return String(error);
  }
}

for (const { language, cheats, honest, refused } of suites) {
  const opened = openOrSay(language);
  const skipped = typeof opened === 'string';
  describe.skipIf(skipped)(skipped ? `${language} (${opened})` : language, () => {
    const ask = async ([program, test]: readonly [string, string], seconds = ampleSeconds) => {
      if (typeof opened === 'string') throw new Error(opened);
      const options = { language, testsField: 'tests', outputField: 'answer', agent: null, limits: { seconds } };
      const task = { taskId: 't', mainQuery: '', initMessages: [], metadata: { tests: test } };
      const { signal } = new AbortController();
      const context = { episodeId: 'e', signal, seed: 1, transcripts: [], environment: null };
      return createTestsJudge(opened, options).judge(task, { metadata: { answer: program } }, context);
    };
    afterAll(async () => {
      if (typeof opened !== 'string') await opened.close();
    });

    it.each(Object.entries(cheats))('gives nothing to a program that %s', async (name, cheat) => {
      expect(await ask(cheat, name === 'never answers' ? 1 : ampleSeconds)).toMatchObject({ reward: 0 });
    });
    it.each(Object.entries(honest))('pays %s', async (_name, right) => {
      expect(await ask(right)).toMatchObject({ reward: 1, reason: 'All 1 tests passed.' });
    });
    it.each(Object.entries(refused))('says that a test cannot run outside that %s', async (name, subject) => {
      const error = await ask(subject).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(JudgeError);
      expect(String(error)).toContain(name.replace(/^derives T from the program$/, 'derives T'));
    });
  });
}
