import assert from 'node:assert/strict';
import type { ContractCase } from '@agentjet/core';
import type { CodeRunner, Language } from '../code-runner.js';

/** The programs of the cases in one language. `escapes` must print nothing that begins with ESCAPED. */
export type RunnerPrograms = {
  readonly language: Language;
  readonly prints: (text: string) => string;
  readonly fails: (message: string) => string;
  readonly loops: string;
  readonly takesMemory: string;
  readonly printsForever: string;
  /** Prints the text of the file `data/in.txt`. */
  readonly printsFile: string;
  /** Prints one line of the standard input. */
  readonly printsInput: string;
  /** Writes something that must not persist, and prints what an earlier run left: `clean` or something else. */
  readonly leavesTrace: string;
  /** One side of a dialogue: asks "ping", and concludes with the answer. */
  readonly asks: string;
  /** The other side: answers a line with the line and " pong". */
  readonly answers: string;
  /** The other side: answers "!paid", as if it could conclude. */
  readonly claims: string;
  readonly escapes: readonly string[];
};

/** The time limit is long, so that the other limits are reached first even on a busy machine. */
const limits = { seconds: 60, megabytes: 128, outputCharacters: 2000 };

/** The contract of every CodeRunner: `for (const { name, run } of runnerCases(open, programs)) it(name, run)`. */
export function runnerCases(open: () => CodeRunner, programs: RunnerPrograms): readonly ContractCase[] {
  const { language } = programs;
  const named: Named = (name, check) => ({
    name: `${language}: ${name}`,
    run: async () => {
      const runner = open();
      try {
        await check(runner);
      } finally {
        await runner.close();
      }
    },
  });
  return [
    named('gives what the code printed', async (runner) => {
      const result = await runner.run(programs.prints('grüezi 🌍'), { language, limits });
      assert.deepEqual([result.stdout, result.error, result.limit], ['grüezi 🌍\n', null, null]);
    }),
    named('gives what the code threw', async (runner) => {
      const result = await runner.run(programs.fails('too bad'), { language, limits });
      assert.match(result.error ?? '', /too bad/);
      assert.equal(result.limit, null);
    }),
    named('ends code that takes too long, and works after it', async (runner) => {
      const late = await runner.run(programs.loops, { language, limits: { ...limits, seconds: 0.3 } });
      assert.equal(late.limit, 'time');
      assert.equal((await runner.run(programs.prints('on'), { language, limits })).stdout, 'on\n');
    }),
    named('ends code that takes too much memory, and works after it', async (runner) => {
      assert.equal((await runner.run(programs.takesMemory, { language, limits })).limit, 'memory');
      assert.equal((await runner.run(programs.prints('on'), { language, limits })).stdout, 'on\n');
    }),
    named('cuts output that is too long', async (runner) => {
      const result = await runner.run(programs.printsForever, { language, limits });
      assert.equal(result.limit, 'output');
      assert.ok(result.stdout.length <= limits.outputCharacters);
    }),
    named('ends with its signal', async (runner) => {
      const controller = new AbortController();
      const running = runner.run(programs.loops, { language, limits, signal: controller.signal });
      setImmediate(() => controller.abort());
      assert.equal((await running).limit, 'aborted');
      assert.equal(
        (await runner.run(programs.loops, { language, limits, signal: controller.signal })).limit,
        'aborted',
      );
    }),
    named('gives the code its files', async (runner) => {
      const result = await runner.run(programs.printsFile, { language, limits, files: { 'data/in.txt': 'inside' } });
      assert.deepEqual([result.stdout.trim(), result.error], ['inside', null]);
    }),
    named('gives the code its input, read or not', async (runner) => {
      assert.equal((await runner.run(programs.printsInput, { language, limits, stdin: 'said' })).stdout, 'said\n');
      const stdin = 'x'.repeat(500_000);
      assert.equal((await runner.run(programs.prints('on'), { language, limits, stdin })).stdout, 'on\n');
    }),
    named('keeps nothing from one run to the next', async (runner) => {
      for (let run = 0; run < 2; run++)
        assert.equal((await runner.run(programs.leavesTrace, { language, limits })).stdout, 'clean\n');
    }),
    named('keeps runs at the same time apart', async (runner) => {
      const texts = ['a', 'b', 'c', 'd'];
      const results = await Promise.all(texts.map((text) => runner.run(programs.prints(text), { language, limits })));
      assert.equal(results.map(({ stdout }) => stdout).join(''), texts.map((text) => `${text}\n`).join(''));
    }),
    ...talkCases(programs, named),
    named('refuses code that is too long to be an answer of a model', async (runner) => {
      const result = await runner.run(`${programs.prints('x')}\n${' '.repeat(2_000_000)}`, { language, limits });
      assert.match(result.error ?? '', /1000000 are allowed/);
    }),
    ...programs.escapes.map((code) =>
      named(`does not let out: ${code.slice(0, 60)}`, async (runner) => {
        const { stdout } = await runner.run(code, { language, limits: { ...limits, seconds: 2 } });
        assert.ok(!stdout.includes('ESCAPED'), stdout);
      }),
    ),
  ];
}

type Named = (name: string, check: (runner: CodeRunner) => Promise<void>) => ContractCase;

function talkCases({ language, ...programs }: RunnerPrograms, named: Named): readonly ContractCase[] {
  return [
    named('carries lines between two sandboxes until one concludes', async (runner) => {
      const talk = (answering: string) =>
        runner.talk({ language, limits, asking: { code: programs.asks }, answering: { code: answering } });
      assert.equal((await talk(programs.answers)).conclusion, 'ping pong');
      assert.equal((await talk(programs.claims)).conclusion, '!paid');
    }),
    named('ends a dialogue at the limits of the side that answers, and says which', async (runner) => {
      const talk = (code: string, more: object = {}) =>
        runner.talk({ language, limits: { ...limits, ...more }, asking: { code: programs.asks }, answering: { code } });
      const late = await talk(programs.loops, { seconds: 2 }); // enough for the other side to start and ask
      assert.deepEqual(
        [late.conclusion, late.answering.limit, late.asking],
        [null, 'time', { error: null, limit: null }],
      );
      const failed = await talk(programs.fails('too bad'));
      assert.match(failed.answering.error ?? '', /too bad/);
      assert.equal(failed.conclusion, null);
    }),
    named('ends a dialogue with its signal', async (runner) => {
      const controller = new AbortController();
      const sides = { asking: { code: programs.loops }, answering: { code: programs.answers } };
      const talking = runner.talk({ language, limits, ...sides, signal: controller.signal });
      setImmediate(() => controller.abort());
      const { conclusion, asking, answering } = await talking;
      assert.equal(conclusion, null);
      assert.ok([asking.limit, answering.limit].includes('aborted'));
    }),
  ];
}
