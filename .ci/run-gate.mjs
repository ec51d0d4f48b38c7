// Trains the tutorial that takes the fewest minutes, and compares it with its kept releases. It counts as one test,
// which fails if the result is red.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { root } from './workspaces.mjs';

export function runCheapestGate() {
  const tsx = createRequire(import.meta.url).resolve('tsx/cli');
  const args = [tsx, 'test/releases/main.ts', '--gate', '--cheapest', '--json'];
  const { status, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.stdout.write(stdout);
  return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0 };
}
