import type { SandboxCase } from './cases.js';

const codes: Readonly<Record<string, string>> = {
  buffers: 'const all = []; for (;;) all.push(new ArrayBuffer(1e6))',
  'buffers after a failure':
    'const all = []; for (;;) try { all.push(new ArrayBuffer(1e6)) } catch { all.push("x".repeat(1e5)) }',
  'one large string': 'let text = "ab"; for (;;) text += text',
  'many strings': 'const all = []; for (let at = 0; ; at++) all.push("y".repeat(1e6) + at)',
  objects: 'const all = []; for (;;) all.push({ a: { b: [1, 2, 3] } })',
  'regular expressions':
    'const all = []; for (let at = 0; ; at++) all.push(new RegExp("(" + "a?".repeat(20000) + at + ")"))',
  'a search that never ends': '/(x+x+)+y/.test("x".repeat(5000))',
  'typed arrays': 'const all = []; for (;;) all.push(new Float64Array(1e5).fill(1.5))',
  'shared memory':
    'const all = []; for (;;) { const b = new Int32Array(new SharedArrayBuffer(4e6)); try { Atomics.add(b, 0, 1) } catch {} all.push(b) }',
  'a growing buffer':
    'const b = new ArrayBuffer(8, { maxByteLength: 2e9 }); for (let size = 8; ; size += 1e6) b.resize(size)',
  'a map': 'const map = new Map(); for (let at = 0; ; at++) map.set(at, "k" + at)',
  'a large number': 'let number = 3n; for (;;) number *= number',
  closures: 'const all = []; for (let at = 0; ; at++) all.push(() => at)',
  promises: 'const more = () => Promise.resolve().then(more).then(more); more()',
  generators: 'const all = []; function* one() { yield 1 } for (;;) { const g = one(); g.next(); all.push(g) }',
  recursion: 'const f = (n) => [f(n + 1)]; for (;;) try { f(0) } catch {}',
  sorting: 'new Array(5e6).fill(0).map((_, at) => "s" + at).sort()',
  'code that makes code':
    'const all = []; for (let at = 0; ; at++) all.push(eval("(function () { return [" + "1,".repeat(1000) + at + "] })"))',
  output: 'for (;;) print("x".repeat(2e7))',
  'output after an error': 'for (;;) try { print("x".repeat(1000)) } catch {}',
  'a long error': 'throw new Error("x".repeat(3e7))',
  'a large value': '"x".repeat(3e7)',
  'time in a getter of the value': '({ get a() { for (;;); } })',
};

export const exhaustionsOfJavascript: readonly SandboxCase[] = Object.entries(codes).map(([name, code]) => ({
  name,
  language: 'javascript',
  code,
}));
