import { isJsonObject, JudgeError, Outage, type Task } from '@agentjet/core';
import type { Judge } from '@agentjet/rollout';
import { SandboxError, type CodeLimits, type CodeRunner, type Language } from '@agentjet/sandbox';
import { withoutThoughts } from '../answer/find-answer.js';
import { lastAnswerText } from '../last-answer-text.js';
import { runTest, type ProgramTest, type TestOutcome } from './run-tests.js';

export type TestsOptions = {
  readonly language: Language;
  /**
   * The field of the task's metadata with one test or a list of tests, each a string of code or `{ stdin, stdout }`.
   */
  readonly testsField: string;
  readonly outputField: string;
  readonly agent: string | null;
  readonly limits: Partial<CodeLimits>;
};

/**
 * Runs the task's tests against the program of the answer, each in new sandboxes. The reward is the share of tests that
 * pass, and the episode is a success if all of them do. A sandbox that fails throws an Outage. Throws JudgeError if the
 * task has no tests, or if a test cannot be decided outside of the program's process.
 */
export function createTestsJudge(runner: CodeRunner, options: TestsOptions): Judge {
  return {
    async judge(task, output, { transcripts, signal }) {
      const tests = testsOf(task, options.testsField);
      const returned = output.metadata?.[options.outputField];
      const said = typeof returned === 'string' ? returned : lastAnswerText(transcripts, options.agent);
      const code = said === null ? '' : programIn(said);
      if (code.trim() === '') return { reward: 0, isSuccess: false, reason: 'The agent wrote no program.' };
      const outcomes: TestOutcome[] = [];
      for (const test of tests) outcomes.push(await runOne(runner, { code, test }, { ...options, signal }));
      checkCrossed(task, outcomes);
      const passed = outcomes.filter(({ outcome }) => outcome === 'passed').length;
      const firstFailed = outcomes.findIndex(({ outcome }) => outcome !== 'passed');
      return {
        reward: passed / tests.length,
        isSuccess: passed === tests.length,
        reason:
          firstFailed < 0
            ? `All ${tests.length} tests passed.`
            : `${passed} of ${tests.length} tests passed; test ${firstFailed + 1}: ${outcomes[firstFailed]?.why}`,
      };
    },
  };
}

async function runOne(...[runner, subject, setting]: Parameters<typeof runTest>): Promise<TestOutcome> {
  try {
    const outcome = await runTest(runner, subject, setting);
    setting.signal.throwIfAborted();
    return outcome;
  } catch (error) {
    if (error instanceof SandboxError) throw new Outage(error.message, { host: 'sandbox', cause: error });
    throw error;
  }
}

/** A test that cannot run against a program in another process is a mistake of the task and not of the program. */
function checkCrossed({ taskId }: Task, outcomes: readonly TestOutcome[]): void {
  const at = outcomes.findIndex(({ outcome }) => outcome === 'refused');
  if (at < 0) return;
  throw new JudgeError(
    'test_cannot_cross',
    `Test ${at + 1} of task "${taskId}" cannot run outside of the program's process: ${outcomes[at]?.why}. ` +
      'Call the program and compare what it returns, or give the task { "stdin", "stdout" }.',
  );
}

/** Returns the last fenced code block, or the whole text if there is none. Thoughts are removed first. */
export function programIn(text: string): string {
  const said = withoutThoughts(text);
  return [...said.matchAll(/^```[^\n]*\n([\s\S]*?)^```/gm)].at(-1)?.[1] ?? said;
}

function testsOf({ taskId, metadata }: Task, field: string): readonly ProgramTest[] {
  const value = metadata[field];
  const tests = (Array.isArray(value) ? value : [value]).map(toTest);
  const known = tests.filter((test) => test !== null);
  if (known.length > 0 && known.length === tests.length) return known;
  throw new JudgeError(
    'no_tests',
    `metadata.${field} of task "${taskId}" is ${JSON.stringify(value)?.slice(0, 80) ?? 'missing'}. ` +
      'Give the task code that checks the program, { "stdin", "stdout" }, or a list of them, or set task_judge.tests.tests_field.',
  );
}

function toTest(value: unknown): ProgramTest | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (!isJsonObject(value)) return null;
  const { stdin, stdout } = value;
  return typeof stdin === 'string' && typeof stdout === 'string' ? { stdin, stdout } : null;
}
