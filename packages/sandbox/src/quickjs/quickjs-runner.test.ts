import { afterAll, expect, it } from 'vitest';
import { javascriptPrograms } from '../testing/programs.js';
import { runnerCases } from '../testing/runner-cases.js';
import { createQuickjsRunner } from './quickjs-runner.js';

// One runner for all cases, because its thread takes a while to start from sources.
const runner = createQuickjsRunner();
afterAll(() => runner.close());
const shared = () => ({
  languages: runner.languages,
  run: runner.run.bind(runner),
  talk: runner.talk.bind(runner),
  close: async () => {},
});

for (const { name, run } of runnerCases(shared, javascriptPrograms)) it(name, run);

it.each([
  ['1 + 2', 3],
  ['({ a: [1, "b", null] })', { a: [1, 'b', null] }],
  ['Promise.resolve(7)', 7],
  ['(async () => { await null; return "later" })()', 'later'],
  ['undefined', undefined],
  ['() => 1', undefined],
  ['const a = {}; a.a = a; a', undefined],
])('gives the value of %s', async (code, value) => {
  const result = await runner.run(code, { language: 'javascript' });
  expect(result).toEqual({ stdout: '', value, error: null, limit: null, mechanism: 'webassembly' });
});

it.each([
  ['syntax error(', /SyntaxError/],
  ['Promise.reject(new Error("later"))', /Error: later/],
  ['throw { toString() { throw 1 } }', /cannot be shown/],
  ['throw new Error("x".repeat(1e6))', /^Error: xxx/],
  ['(function f() { f() })()', /stack|InternalError|RangeError/],
])('says what went wrong in %s', async (code, message) => {
  const { error } = await runner.run(code, { language: 'javascript' });
  expect(error).toMatch(message);
  expect(error?.length).toBeLessThanOrEqual(20_000);
});

it.each(['(', '[', '{', '-', 'async()=>', 'if(1)', '`${'])(
  'takes code for wrong that overflows the parser with %j, and runs the next',
  async (opening) => {
    for (const end of ['', '1']) {
      const { error, limit } = await runner.run(opening.repeat(100_000) + end, { language: 'javascript' });
      expect([error, limit]).toEqual([expect.any(String), null]);
    }
    expect(await runner.run('1 + 1', { language: 'javascript' })).toMatchObject({ value: 2, error: null });
  },
);

it.each([
  ['buffers', 'new ArrayBuffer(1e6)'],
  ['strings', '"y".repeat(1e6) + count'],
  ['patterns', 'new RegExp("(" + "a?".repeat(1e5) + count + ")")'],
])('keeps its limit over all %s together', async (_, one) => {
  const code = `const all = []; let count = 0; try { for (;;) { all.push(${one}); count++ } } catch {} all.length = 0; count`;
  const { value } = await runner.run(code, { language: 'javascript', limits: { seconds: 60, megabytes: 24 } });
  expect(value).toBeGreaterThan(5);
  expect(value).toBeLessThan(24);
});

it('copies no message, value or line out of the interpreter that is too long', async () => {
  const run = (code: string) => runner.run(code, { language: 'javascript', limits: { seconds: 60 } });
  expect((await run('throw new Error("x".repeat(5e6))')).error).toBe('an error whose message has 5000007 characters');
  expect(await run('"x".repeat(5e6)')).toMatchObject({ value: undefined, limit: 'output' });
  const { stdout, limit } = await run('for (;;) print("x".repeat(5e6))');
  expect([stdout.length, limit]).toEqual([20_000, 'output']);
});

it('refuses to run after it was closed', async () => {
  const closed = createQuickjsRunner();
  await closed.close();
  await expect(closed.run('1', { language: 'javascript' })).rejects.toThrow('The sandbox is closed.');
});
