import { randomBytes } from 'node:crypto';
import type { CodeLimits, CodeRunner, Language } from '@agentjet/sandbox';

/** One test: code that throws if the program is wrong, or an input with the output that the program must print for it. */
export type ProgramTest = string | { readonly stdin: string; readonly stdout: string };

export type TestOutcome = { readonly isPassed: boolean; readonly why: string };

export type TestSetting = {
  readonly language: Language;
  readonly limits: Partial<CodeLimits>;
  readonly signal: AbortSignal;
};

/** Runs one test in a new sandbox. A limit that the program reaches is its failure. */
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
  if (limit !== null || error !== null) return failed(limit, error);
  const isPassed = trimLines(stdout) === trimLines(test.stdout);
  return { isPassed, why: isPassed ? 'passed' : `printed ${JSON.stringify(stdout.slice(0, 80))}` };
}

/** A program that ends early must not pass, so the check has to reach a word at its end that the program does not know. */
async function runCheck(
  runner: CodeRunner,
  { code, test }: { readonly code: string; readonly test: string },
  setting: TestSetting,
): Promise<TestOutcome> {
  const word = randomBytes(16).toString('hex');
  if (setting.language === 'javascript') {
    const { value, error, limit } = await runner.run(`${code}\n;{\n${test}\n}\n;${JSON.stringify(word)}`, setting);
    return value === word ? { isPassed: true, why: 'passed' } : failed(limit, error);
  }
  const files = { 'solution.py': code, 'check.py': test };
  const { stdout, error, limit } = await runner.run(pythonCheck, { ...setting, files, stdin: `${word}\n` });
  const isPassed = limit === null && error === null && stdout.trimEnd().endsWith(word);
  return isPassed ? { isPassed, why: 'passed' } : failed(limit, error);
}

const pythonCheck = `
def check(word):
    scope = {"__name__": "solution"}
    for name in ("solution.py", "check.py"):
        with open(name) as file:
            exec(compile(file.read(), name, "exec"), scope)
    print()
    print(word)
check(input())
`;

function failed(limit: string | null, error: string | null): TestOutcome {
  return { isPassed: false, why: limit === null ? (error ?? 'ended early') : `reached its limit of ${limit}` };
}

function trimLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
}
