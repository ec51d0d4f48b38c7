import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { examineRun } from '@agentjet/diagnose';
import type { JobResult } from 'agentjet';
import { summarizeFindings } from './doctor-lines.js';

/**
 * The findings about a run that has just ended, one line each. A run of several policies has records of each. The
 * result of a run never depends on its findings, so records that cannot be read become a line.
 */
export async function describeEnd({ runDir, policies }: JobResult): Promise<readonly string[]> {
  if (runDir === null) return [];
  const folders =
    policies === undefined ? [runDir] : Object.keys(policies).map((name) => path.join(runDir, 'policies', name));
  const lines: string[] = [];
  for (const folder of folders) {
    try {
      lines.push(...summarizeFindings((await examineRun(folder)).findings, path.relative(process.cwd(), folder)));
    } catch (thrown) {
      lines.push(`The records of ${folder} could not be examined: ${toErrorMessage(thrown)}`);
    }
  }
  return lines;
}
