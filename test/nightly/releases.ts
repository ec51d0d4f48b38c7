import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { root } from '../../.ci/workspaces.mjs';
import type { NightlyOutcome } from './nightly-job.js';

type Gate = { readonly cells: number; readonly red: number; readonly yellow: number; readonly green: number };

/** Trains every tutorial, and compares with the kept releases. */
export async function run(): Promise<NightlyOutcome> {
  const tsx = createRequire(import.meta.url).resolve('tsx/cli');
  const args = [tsx, 'test/releases/main.ts', '--gate', '--json'];
  const { status, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = stdout.trim().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) return { passed: false, summary: `the gate ended with ${status}`, details: {} };
  const gate = JSON.parse(line) as Gate;
  const summary = `${gate.green} green, ${gate.yellow} yellow, ${gate.red} red of ${gate.cells} cells`;
  return { passed: status === 0, summary, details: gate };
}
