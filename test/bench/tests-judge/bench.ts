/**
 * How much time does the judge `tests` need, and which programs does it reward? It compares results outside of the
 * program's process. The earlier judge, which is the reference, compares them inside.
 */
import { createTestsJudge } from '@agentjet/judges';
import { openCodeRunner } from '@agentjet/sandbox';
import { median, numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { judgeLimits, measureCheatsIn, type CheatFigures } from '../right/cheats.js';
import { oldJudgeCommit, openOldJudge } from '../right/old-judge.js';
import { readPrograms, type JudgedProgram, type ProgramLanguage } from '../right/read-programs.js';

const languages = ['python', 'javascript'] as const;

export const optionTexts: OptionTexts = { '--rounds <n>': 'default 5' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const rounds = numberOption(args, '--rounds', 5);
  const byLanguage: Record<string, CheatFigures> = {};
  const suites: Record<string, Suite> = {};
  for (const language of languages) {
    const figures = await measureCheatsIn(language, report);
    if (figures === null) throw new Error(`There is no sandbox for ${language} here.`);
    byLanguage[language] = figures;
    suites[language] = await measureSuite(language, rounds);
    report(`${language}: ${JSON.stringify(suites[language])}`);
  }
  return {
    summary: { by_language: byLanguage, suite_of_20_ms: suites },
    details: { old_judge: oldJudgeCommit, rounds },
  };
}

type Suite = { readonly before: number; readonly after: number };

/** Returns ms for a suite of 20 tests of a right program, by both judges in turn, as the median of the rounds. */
async function measureSuite(language: ProgramLanguage, rounds: number): Promise<Suite> {
  const runner = openCodeRunner(language);
  const subject = readPrograms('honest', language).find(({ name }) => name === 'adds');
  const old = await openOldJudge(judgeLimits);
  if (subject === undefined || old === null)
    throw new Error(`The old judge is the reference, and commit ${oldJudgeCommit} is not in this history.`);
  const suite: readonly JudgedProgram[] = Array.from({ length: 20 }, () => subject);
  const judge = createTestsJudge(runner, {
    language,
    testsField: 'tests',
    outputField: 'answer',
    agent: null,
    limits: judgeLimits,
  });
  const task = {
    taskId: 'suite',
    mainQuery: '',
    initMessages: [],
    metadata: { tests: suite.map(({ test }) => test) },
  };
  const { signal } = new AbortController();
  const context = { episodeId: 'e', signal, seed: 1, transcripts: [], environment: null };
  const after = () => judge.judge(task, { metadata: { answer: subject.program } }, context);
  const before = async () => {
    for (const judged of suite) await old(runner, language, judged);
  };
  const times: { before: number[]; after: number[] } = { before: [], after: [] };
  for (let round = 0; round <= rounds; round++) {
    for (const [name, measure] of [['before', before] as const, ['after', after] as const]) {
      const start = performance.now();
      await measure();
      if (round > 0) times[name].push(performance.now() - start); // the first one starts the sandbox
    }
  }
  await runner.close();
  return { before: Math.round(median(times.before)), after: Math.round(median(times.after)) };
}
