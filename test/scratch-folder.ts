import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const folder = mkdtempSync(path.join(tmpdir(), 'agentjet-tests-'));

/** Whatever tests put under the temporary folder, and programs that they start, goes with the run. */
export function setup(): void {
  Object.assign(process.env, { TMPDIR: folder, TMP: folder, TEMP: folder });
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
