// `npm run dev [-- <paths>]` runs the tests that a change touches and checks all types. It repeats both after each
// change. Ctrl-C ends both.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { root } from './workspaces.mjs';

const paths = process.argv.slice(2);
const bin = (name) => path.join(root, 'node_modules', name);
const programs = {
  types: [bin('typescript/bin/tsc'), '-p', 'tsconfig.check.json', '--watch', '--preserveWatchOutput', '--pretty'],
  tests: [bin('vitest/vitest.mjs'), 'watch', '--no-clearScreen', ...(paths.length === 0 ? ['--changed'] : paths)],
};

/** Prints the lines of a program with the program's name in front. */
function start([name, args]) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
  });
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => console.log(`${name}  ${line}`));
  return child;
}

const children = Object.entries(programs).map(start);
for (const child of children)
  child.once('exit', (code) => {
    for (const other of children) other.kill();
    process.exitCode ||= code ?? 0;
  });
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    for (const child of children) child.kill();
  });
