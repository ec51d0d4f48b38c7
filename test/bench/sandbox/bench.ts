/**
 * Does a sandbox contain its code? In each sandbox of this machine, the benchmark tries escapes and ways to exhaust the
 * machine, and another process measures whether the limits are kept. It also runs honest programs, and measures the
 * time of a start. Exhaustions in Python run with and without control groups. Linux only.
 */
import { randomUUID } from 'node:crypto';
import { loadavg } from 'node:os';
import { languages, openCodeRunner, SandboxError, type CodeLimits, type Language } from '@agentjet/sandbox';
import { median, type BenchOptions, type BenchResult } from '../bench.js';
import { openCanaries, type Canaries } from './canaries.js';
import type { RunReply } from './case-runner.js';
import { readCases, type SandboxCase } from './cases.js';
import { honestJavascript } from './honest-javascript.js';
import { honestPython } from './honest-python.js';
import type { HonestProgram } from './honest.js';
import { excessOf } from './excess.js';
import { WatchedRunner } from './watched-runner.js';

const escapeLimits: CodeLimits = { seconds: 5, megabytes: 128, outputCharacters: 2000 };
const exhaustionLimits = {
  javascript: { seconds: 2, megabytes: 64, outputCharacters: 2000 },
  python: { seconds: 2, megabytes: 128, outputCharacters: 2000 },
} as const;
const honestLimits: CodeLimits = { seconds: 20, megabytes: 256, outputCharacters: 100_000 };
const starts = 11;

export async function run({ report }: BenchOptions): Promise<BenchResult> {
  if (process.platform !== 'linux') throw new Error(`This bench reads /proc, which ${process.platform} does not have.`);
  const skipped = languages.flatMap((language) => problemOf(language) ?? []);
  const canRun = ({ language }: { readonly language: Language }): boolean => problemOf(language) === null;
  for (const problem of skipped) report(problem);
  const load = roundedLoad();
  const { ours, byOthers } = await readCases();
  const canaries = await openCanaries();
  const secret = randomUUID();
  const runner = new WatchedRunner({
    env: { SECRET: secret, TMPDIR: canaries.folder },
    leftOpen: canaries.file,
  });
  const words = [secret, canaries.word];
  const inAll = (name: 'escapes' | 'exhaustions') => [...ours[name], ...byOthers[name]].filter(canRun);
  try {
    const escapes = await each(inAll('escapes'), (one) => tryEscape(runner, { one, canaries, words, report }));
    const exhaustions = await each(inAll('exhaustions'), (one) =>
      each(waysOf(one), (isGrouped) => tryExhaustion(runner, { one, isGrouped, canaries, report })),
    );
    const allExhaustions = exhaustions.flat();
    const programs = [...honestPython, ...honestJavascript].filter(canRun);
    const honest = await each(programs, (program) => runHonest(runner, program, report));
    return {
      summary: {
        escapes_tried: escapes.length,
        escaped: escapes.filter(({ isOut }) => isOut).length,
        exhaustions_tried: exhaustions.length,
        over_limit: exhaustions.filter((runs) => runs.some(({ excess }) => excess !== null)).length,
        honest: honest.length,
        finished: honest.filter(({ isRight }) => isRight).length,
        mechanism: honest.find(({ language }) => language === 'python')?.mechanism ?? null,
        start_ms: Object.fromEntries(
          await each(
            languages.filter((language) => canRun({ language })),
            startOf,
          ),
        ),
      },
      details: {
        skipped,
        load: { before: load, after: roundedLoad() },
        by_others: {
          escapes: byOthers.escapes.filter(canRun).length,
          exhaustions: byOthers.exhaustions.filter(canRun).length,
        },
        ended_by_limit: [...escapes, ...allExhaustions].filter(({ limit }) => limit !== null).length,
        exhaustions_by_mechanism: Object.fromEntries(
          ['webassembly', 'cgroup', 'pss'].map((name) => [
            name,
            allExhaustions.filter(({ mechanism }) => mechanism === name).length,
          ]),
        ),
        highest_peak_over_limit: Math.max(...allExhaustions.map(({ peak }) => peak)),
      },
    };
  } finally {
    await runner.close();
    await canaries.close();
  }
}

/** Returns the mean load of the last minute. A high load delays the start and the checks of a sandbox. */
function roundedLoad(): number {
  return Math.round(10 * (loadavg()[0] ?? 0)) / 10;
}

/** The reason why a language has no sandbox here, or null. */
const problems = new Map<Language, string | null>();
function problemOf(language: Language): string | null {
  if (problems.has(language)) return problems.get(language) ?? null;
  try {
    void openCodeRunner(language).close();
    problems.set(language, null);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    problems.set(language, error.message);
  }
  return problems.get(language) ?? null;
}

async function each<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await run(item)); // one at a time, so that only one program is watched
  return results;
}

type Report = (line: string) => void;
type Try = { readonly one: SandboxCase; readonly canaries: Canaries; readonly report: Report };

async function tryEscape(
  runner: WatchedRunner,
  { one, canaries, words, report }: Try & { readonly words: readonly string[] },
): Promise<{ readonly isOut: boolean; readonly limit: string | null }> {
  const code = canaries.fillIn(one.code);
  const { reply } = await runner.run({ language: one.language, code, limits: escapeLimits, isGrouped: true });
  const isOut = reply === null || hasEscaped(reply, words) || !canaries.areUnharmed();
  if (isOut) report(`${one.language} escaped: ${one.name}: ${reply?.stdout.slice(0, 200)}`);
  return { isOut, limit: reply?.limit ?? null };
}

function hasEscaped({ stdout, value, error, isPolluted }: RunReply, words: readonly string[]): boolean {
  const said = stdout + value + (error ?? '');
  return (
    isPolluted || stdout.includes('ESCAPED') || value.includes('ESCAPED') || words.some((word) => said.includes(word))
  );
}

/** Returns whether to run the case with control groups, without them, or both. */
function waysOf({ language }: SandboxCase): readonly boolean[] {
  return language === 'python' ? [true, false] : [true];
}

type Exhausted = {
  readonly excess: string | null;
  readonly limit: string | null;
  readonly mechanism: string;
  /** The highest sample of memory, as a share of the limit. */
  readonly peak: number;
};

async function tryExhaustion(
  runner: WatchedRunner,
  { one, isGrouped, canaries, report }: Try & { readonly isGrouped: boolean },
): Promise<Exhausted> {
  const { language, name } = one;
  const limits = exhaustionLimits[language];
  // Starts the interpreter of JavaScript first, so that its own memory and its start do not count.
  if (language === 'javascript') await runner.run({ language, code: '1', limits, isGrouped });
  const seen = await runner.run({ language, code: canaries.fillIn(one.code), limits, isGrouped });
  const excess = excessOf(seen, limits);
  const most = Math.max(0, ...seen.samples.map(({ bytes }) => bytes)) / (limits.megabytes * 1024 * 1024);
  const peak = Math.round(most * 100) / 100;
  const { limit, mechanism } = seen.reply ?? { limit: null, mechanism: 'no answer' };
  report(`${language} (${mechanism}) ${name}: ${limit ?? 'no limit'}, ${peak} times the memory`);
  if (excess !== null) report(`${language} (${mechanism}) ${name} is OVER its limit: ${excess}`);
  return { excess, limit, mechanism, peak };
}

async function runHonest(
  runner: WatchedRunner,
  { name, prints, ...program }: HonestProgram,
  report: Report,
): Promise<{ readonly isRight: boolean; readonly language: Language; readonly mechanism: string }> {
  const { reply } = await runner.run({ ...program, limits: honestLimits, isGrouped: true });
  const isRight = reply !== null && reply.error === null && reply.limit === null && reply.stdout.trim() === prints;
  if (!isRight) report(`${program.language} did not finish: ${name}: ${JSON.stringify(reply).slice(0, 300)}`);
  return { isRight, language: program.language, mechanism: reply?.mechanism ?? '' };
}

/** Returns the language, and the median time in ms from the call to the result of a program that only prints. */
async function startOf(language: Language): Promise<readonly [Language, number]> {
  const runner = openCodeRunner(language);
  const times: number[] = [];
  for (let at = 0; at < starts; at++) {
    const before = performance.now();
    await runner.run('print(1)', { language, limits: escapeLimits });
    times.push(performance.now() - before);
  }
  await runner.close();
  return [language, Math.round(10 * median(times)) / 10];
}
