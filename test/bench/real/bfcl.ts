import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { compareCheckers, drawCases } from '#tutorial/choose-function/agree.js';
import { root } from '../../releases/run-node.js';
import type { Measured } from './measured.js';

const numAnswers = 500;

/**
 * Does our scorer agree with BFCL's own checker? `skipped` says why the wheel that contains both could not be
 * downloaded.
 */
export async function measureBfcl(): Promise<Measured> {
  const script = path.join(root, 'tutorial/choose-function/fetch-bfcl.ts');
  const fetched = spawnSync(process.execPath, ['--import', 'tsx', script], { cwd: root, encoding: 'utf8' });
  if (fetched.status !== 0) return { summary: { skipped: lastLine(fetched.stderr) }, details: {} };
  const { answers, same, right, differ } = compareCheckers(drawCases(numAnswers));
  return { summary: { scorer: { answers, same } }, details: { right, differ } };
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
