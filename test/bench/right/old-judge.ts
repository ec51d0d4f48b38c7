import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CodeRunner } from '@agentjet/sandbox';
import type { JudgedProgram, ProgramLanguage } from './read-programs.js';

/** The last commit whose judge ran a test in the interpreter of the program. */
export const oldJudgeCommit = '8d7cee90';

type OldRunTest = (
  runner: CodeRunner,
  subject: { readonly code: string; readonly test: string },
  setting: { readonly language: ProgramLanguage; readonly limits: object; readonly signal: AbortSignal },
) => Promise<{ readonly isPassed: boolean }>;

/**
 * Opens that judge with its own code from the history. The result says whether the judge rewards a program. Resolves
 * with null if the history does not reach back so far.
 */
export async function openOldJudge(
  limits: object,
): Promise<((runner: CodeRunner, language: ProgramLanguage, judged: JudgedProgram) => Promise<boolean>) | null> {
  const source = readOldSource();
  if (source === null) return null;
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'old-judge-')), 'run-tests.mts');
  writeFileSync(file, source);
  const { runTest } = (await import(pathToFileURL(file).href)) as { readonly runTest: OldRunTest };
  return async (runner, language, { program, test }) => {
    const setting = { language, limits, signal: new AbortController().signal };
    return (await runTest(runner, { code: program, test }, setting)).isPassed;
  };
}

function readOldSource(): string | null {
  try {
    return execFileSync('git', ['show', `${oldJudgeCommit}:packages/judges/src/tests/run-tests.ts`], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return null;
  }
}
