/**
 * Can code escape from a sandbox? In each sandbox that runs on this machine, it tries known ways to escape, and
 * measures how long a start takes.
 */
import { openCodeRunner, SandboxError, type CodeRunner } from '@agentjet/sandbox';
import { javascriptPrograms, pythonPrograms, type RunnerPrograms } from '@agentjet/sandbox/testing';
import { median, type BenchOptions, type BenchResult } from '../bench.js';

const limits = { seconds: 5, megabytes: 128, outputCharacters: 2000 };
const starts = 11;

export async function run({ report }: BenchOptions): Promise<BenchResult> {
  process.env['SECRET'] = 'what the code looks for';
  const results = [];
  for (const programs of [javascriptPrograms, pythonPrograms]) results.push(await benchLanguage(programs, report));
  const tried = results.flatMap(({ tried: all }) => all);
  return {
    summary: {
      escapes_tried: tried.length,
      escaped: tried.filter(({ isOut }) => isOut).length,
      start_ms: Object.fromEntries(results.map(({ language, startMs }) => [language, startMs])),
    },
    details: {
      skipped: results.flatMap(({ skipped }) => (skipped === null ? [] : [skipped])),
      ended_by_limit: tried.filter(({ limit }) => limit !== null).length,
    },
  };
}

type Tried = { readonly isOut: boolean; readonly limit: string | null };
type LanguageResult = {
  readonly language: string;
  readonly tried: readonly Tried[];
  readonly startMs: number | null;
  readonly skipped: string | null;
};

async function benchLanguage(programs: RunnerPrograms, report: (line: string) => void): Promise<LanguageResult> {
  const { language } = programs;
  const runner = openOrSay(programs);
  if (typeof runner === 'string') {
    report(runner);
    return { language, tried: [], startMs: null, skipped: runner };
  }
  try {
    const tried: Tried[] = [];
    for (const code of programs.escapes) {
      const { stdout, limit } = await runner.run(code, { language, limits });
      if (stdout.includes('ESCAPED')) report(`${language} ESCAPED: ${code}`);
      tried.push({ isOut: stdout.includes('ESCAPED'), limit });
    }
    return { language, tried, startMs: await measureStart(runner, programs), skipped: null };
  } finally {
    await runner.close();
  }
}

function openOrSay({ language }: RunnerPrograms): CodeRunner | string {
  try {
    return openCodeRunner(language);
  } catch (error) {
    if (error instanceof SandboxError) return error.message;
    throw error;
  }
}

/** Returns ms from the call to the result of a program that only prints, as the median. */
async function measureStart(runner: CodeRunner, { language, prints }: RunnerPrograms): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < starts; at++) {
    const before = performance.now();
    await runner.run(prints('on'), { language, limits });
    times.push(performance.now() - before);
  }
  return Math.round(10 * median(times)) / 10;
}
