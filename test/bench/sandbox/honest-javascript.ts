import type { HonestProgram } from './honest.js';

const programs: readonly Omit<HonestProgram, 'language'>[] = [
  { name: 'sums', code: 'let sum = 0; for (let at = 0; at < 1e6; at++) sum += at; print(sum)', prints: '499999500000' },
  {
    name: 'reads its input',
    code: 'print(stdin.trim().split(/\\s+/).map(Number).reduce((a, b) => a + b))',
    stdin: '1 2\n3\n',
    prints: '6',
  },
  {
    name: 'sorts',
    code: 'print(Array.from({ length: 200000 }, (_, at) => (at * 7919) % 200003).sort((a, b) => a - b)[1000])',
    prints: '1000',
  },
  {
    name: 'has classes and errors',
    code: 'class A { #x = 1; get x() { return this.#x } }\ntry { new A().y.z } catch (error) { print(error.name, new A().x) }',
    prints: 'TypeError 1',
  },
  {
    name: 'waits for promises',
    code: '(async () => { let sum = 0; for (let at = 0; at < 1000; at++) sum += await at; print(sum) })()',
    prints: '499500',
  },
  {
    name: 'calculates with large numbers',
    code: 'let f = 1n; for (let at = 1n; at <= 200n; at++) f *= at; print(String(f).length)',
    prints: '375',
  },
  {
    name: 'searches with patterns',
    code: 'print("2026-11-27 and 2025-01-02".replace(/(\\d+)-(\\d+)-(\\d+)/g, "$3.$2.$1"))',
    prints: '27.11.2026 and 02.01.2025',
  },
  {
    name: 'makes a large table',
    code: 'const table = Array.from({ length: 500 }, (_, i) => Array.from({ length: 500 }, (_, j) => i ^ j)); print(table.flat().reduce((a, b) => a + b))',
    prints: '63839192',
  },
  {
    name: 'needs 40 MB',
    code: 'const all = []; for (let at = 0; at < 40; at++) all.push(new Uint8Array(1e6).fill(1)); print(all.length)',
    prints: '40',
  },
  { name: 'recurses', code: 'const deep = (n) => n === 0 ? 0 : 1 + deep(n - 1); print(deep(1000))', prints: '1000' },
  {
    name: 'prints much',
    code: 'for (let at = 0; at < 3000; at++) console.log(`line ${at}`)',
    prints: Array.from({ length: 3000 }, (_, at) => `line ${at}`).join('\n'),
  },
  {
    name: 'reads its files',
    code: 'print(JSON.parse(files["data/in.json"]).a)',
    files: { 'data/in.json': '{"a":1}' },
    prints: '1',
  },
  {
    name: 'has maps, sets and generators',
    code: 'function* up(n) { for (let at = 0; at < n; at++) yield at } print(new Set([...up(1000)].map((x) => x % 7)).size, new Map([[1, 2]]).get(1))',
    prints: '7 2',
  },
  {
    name: 'evaluates code',
    code: 'globalThis.two = 2; print((0, eval)("two + 2"), new Function("x", "return x + 1")(2))',
    prints: '4 3',
  },
];

export const honestJavascript: readonly HonestProgram[] = programs.map((program) => ({
  ...program,
  language: 'javascript',
}));
