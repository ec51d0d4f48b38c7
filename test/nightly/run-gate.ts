import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { root } from '../../.ci/workspaces.mjs';
import type { NightlyOutcome } from './nightly-job.js';

type Gate = {
  readonly cells: number;
  readonly red: number;
  readonly yellow: number;
  readonly green: number;
  readonly not_reached: number;
};

/** Trains tutorials, and compares with the kept releases. Without arguments: every tutorial whose needs are here. */
export function runGate(args: readonly string[], env: Readonly<Record<string, string>> = {}): NightlyOutcome {
  const tsx = createRequire(import.meta.url).resolve('tsx/cli');
  const command = [tsx, 'test/releases/main.ts', '--gate', '--json', ...args];
  const { status, stdout } = spawnSync(process.execPath, command, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = stdout.trim().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) return { passed: false, summary: `the gate ended with ${status}`, details: {} };
  const gate = JSON.parse(line) as Gate;
  const summary = `${gate.green} green, ${gate.yellow} yellow, ${gate.red} red of ${gate.cells} cells, ${gate.not_reached} not reached`;
  return { passed: status === 0, summary, details: gate };
}
