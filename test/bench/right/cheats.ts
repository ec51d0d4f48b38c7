/**
 * Does the judge `tests` reward programs that cheat, and programs that are right? The earlier judge is measured for
 * comparison.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createTestsJudge } from '@agentjet/judges';
import { openCodeRunner, SandboxError, type CodeRunner } from '@agentjet/sandbox';
import type { BenchOptions } from '../bench.js';
import { openOldJudge } from './old-judge.js';
import { readPrograms, type JudgedProgram, type ProgramLanguage } from './read-programs.js';

export const judgeLimits = { seconds: 10, megabytes: 256 };

export type CheatFigures = {
  readonly cheats: { readonly tried: number; readonly paid_before: number; readonly paid: number };
  readonly honest: { readonly tried: number; readonly paid: number };
};

/**
 * Judges the cheating and the right programs of both languages. If this machine has no sandbox for a language, it uses
 * the kept figures of the language and reports this.
 */
export async function measureCheats({ report }: Pick<BenchOptions, 'report'>): Promise<CheatFigures> {
  const measured: CheatFigures[] = [];
  for (const language of ['python', 'javascript'] as const)
    measured.push((await measureCheatsIn(language, report)) ?? keptFigures(language, report));
  const sum = (count: (figures: CheatFigures) => number): number =>
    measured.reduce((total, figures) => total + count(figures), 0);
  return {
    cheats: {
      tried: sum(({ cheats }) => cheats.tried),
      paid_before: sum(({ cheats }) => cheats.paid_before),
      paid: sum(({ cheats }) => cheats.paid),
    },
    honest: { tried: sum(({ honest }) => honest.tried), paid: sum(({ honest }) => honest.paid) },
  };
}

export async function measureCheatsIn(
  language: ProgramLanguage,
  report: (line: string) => void,
): Promise<CheatFigures | null> {
  const runner = openOrSay(language, report);
  if (runner === null) return null;
  try {
    const cheats = readPrograms('cheats', language);
    const honest = readPrograms('honest', language);
    const pays = payer(runner, language);
    const paid = await namesOf(cheats, pays);
    for (const name of paid) report(`${language} PAID: ${name}`);
    const right = await namesOf(honest, pays);
    for (const { name } of honest) if (!right.includes(name)) report(`${language} NOT PAID: ${name}`);
    return {
      cheats: { tried: cheats.length, paid_before: await paidBefore(runner, language, report), paid: paid.length },
      honest: { tried: honest.length, paid: right.length },
    };
  } finally {
    await runner.close();
  }
}

type Payer = (judged: JudgedProgram) => Promise<boolean>;

async function namesOf(programs: readonly JudgedProgram[], pays: Payer): Promise<readonly string[]> {
  const names: string[] = [];
  for (const judged of programs) if (await pays(judged)) names.push(judged.name);
  return names;
}

/** Returns a function that says whether the judge gives any reward for a program. */
function payer(runner: CodeRunner, language: ProgramLanguage): Payer {
  const options = { language, testsField: 'tests', outputField: 'answer', agent: null, limits: judgeLimits };
  const judge = createTestsJudge(runner, options);
  const { signal } = new AbortController();
  return async ({ name, program, test }) => {
    const task = { taskId: name, mainQuery: '', initMessages: [], metadata: { tests: test } };
    const context = { episodeId: name, signal, seed: 1, transcripts: [], environment: null };
    return (await judge.judge(task, { metadata: { answer: program } }, context)).reward > 0;
  };
}

async function paidBefore(
  runner: CodeRunner,
  language: ProgramLanguage,
  report: (line: string) => void,
): Promise<number> {
  const pays = await openOldJudge(judgeLimits);
  if (pays === null) return keptFigures(language, report).cheats.paid_before;
  const cheats = readPrograms('cheats', language);
  const paid = await namesOf(cheats, (judged) => pays(runner, language, judged));
  for (const { name } of cheats) if (!paid.includes(name)) report(`${language} not paid before: ${name}`);
  return paid.length;
}

function openOrSay(language: ProgramLanguage, report: (line: string) => void): CodeRunner | null {
  try {
    return openCodeRunner(language);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    report(error.message);
    return null;
  }
}

/** Returns the figures of a language in results/tests-judge.json. */
function keptFigures(language: ProgramLanguage, report: (line: string) => void): CheatFigures {
  const file = path.join(import.meta.dirname, '../results/tests-judge.json');
  if (!existsSync(file)) throw new Error(`There is no sandbox for ${language} here, and no kept result in ${file}.`);
  const kept = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly commit: string;
    readonly date: string;
    readonly by_language: Readonly<Record<ProgramLanguage, CheatFigures>>;
  };
  report(`${language}: figures of ${kept.date.slice(0, 10)}, commit ${kept.commit}`);
  return kept.by_language[language];
}
