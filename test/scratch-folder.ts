import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

let folder: string | undefined;

/**
 * Files that tests, and programs that they start, put under the temporary folder are removed with the run. Each project
 * of the configuration calls this function, and then the root also calls it. Only the root makes a folder.
 */
export function setup(project: TestProject): void {
  if (!project.isRootProject()) return;
  folder = mkdtempSync(path.join(tmpdir(), 'agentjet-tests-'));
  Object.assign(process.env, { TMPDIR: folder, TMP: folder, TEMP: folder });
}

export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
