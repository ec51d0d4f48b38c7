import type { CodeLimits, CodeRunner, DialogueResult, Language, SideResult } from '@agentjet/sandbox';
import { bridgeOf } from './bridge.js';

/** One test: code that throws if the program is wrong, or an input with the output that the program must print. */
export type ProgramTest = string | { readonly stdin: string; readonly stdout: string };

/**
 * `refused` means that the test does something that is impossible with a program in another process. The program has no
 * part in that.
 */
export type TestOutcome = { readonly outcome: 'passed' | 'failed' | 'refused'; readonly why: string };

export type TestSetting = {
  readonly language: Language;
  readonly limits: Partial<CodeLimits>;
  readonly signal: AbortSignal;
};

/** Runs one test in new sandboxes. The deciding code is never in the program's sandbox. */
export async function runTest(
  runner: CodeRunner,
  { code, test }: { readonly code: string; readonly test: ProgramTest },
  setting: TestSetting,
): Promise<TestOutcome> {
  return typeof test === 'string'
    ? runCheck(runner, { code, test }, setting)
    : runInput(runner, { code, test }, setting);
}

async function runInput(
  runner: CodeRunner,
  { code, test }: { readonly code: string; readonly test: { readonly stdin: string; readonly stdout: string } },
  setting: TestSetting,
): Promise<TestOutcome> {
  const { stdout, error, limit } = await runner.run(code, { ...setting, stdin: test.stdin });
  if (limit !== null || error !== null) return failed(reasonOf({ limit, error }));
  if (trimLines(stdout) === trimLines(test.stdout)) return passed;
  return failed(`printed ${JSON.stringify(stdout.slice(0, 80))}`);
}

/** Runs the test in one sandbox and the program in another. The program's results reach the test as data. */
async function runCheck(
  runner: CodeRunner,
  { code, test }: { readonly code: string; readonly test: string },
  setting: TestSetting,
): Promise<TestOutcome> {
  const { decides, serves } = bridgeOf(setting.language);
  const end = setting.language === 'python' ? 'py' : 'js';
  const result = await runner.talk({
    ...setting,
    asking: { code: decides, files: { [`test.${end}`]: test } },
    answering: { code: serves, files: { [`solution.${end}`]: code } },
  });
  return outcomeOf(result);
}

function outcomeOf({ conclusion, asking, answering }: DialogueResult): TestOutcome {
  if (conclusion !== null) {
    const [outcome, why] = JSON.parse(conclusion) as [TestOutcome['outcome'], string];
    return outcome === 'passed' ? passed : { outcome, why };
  }
  const isProgram = answering.error !== null || answering.limit !== null;
  return failed(isProgram ? reasonOf(answering) : `the test with this program ${reasonOf(asking)}`);
}

const passed: TestOutcome = { outcome: 'passed', why: 'passed' };

function failed(why: string): TestOutcome {
  return { outcome: 'failed', why };
}

function reasonOf({ limit, error }: SideResult): string {
  return limit === null ? (error ?? 'ended early') : `reached its limit of ${limit}`;
}

function trimLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
}
