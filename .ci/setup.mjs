// Prepares what `npm start` and `npm test` need: installed packages and a build. A second run does nothing.
import './refuse-old-node.mjs';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isInstalled, rememberInstalled, root } from './installed.mjs';

/** Shows that a command still runs: the seconds on a terminal, a line every 20 seconds elsewhere. Returns its end. */
function showProgress(label) {
  const startedAt = performance.now();
  const seconds = () => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  const isTerminal = process.stderr.isTTY === true;
  process.stderr.write(isTerminal ? label : `${label}\n`);
  const tick = () => process.stderr.write(isTerminal ? `\r${label} ${seconds()}` : `  ${seconds()}\n`);
  const timer = setInterval(tick, isTerminal ? 1000 : 20_000);
  return () => {
    clearInterval(timer);
    if (isTerminal) process.stderr.write(`\r${label} ${seconds()}\n`);
  };
}

/** Runs a command. It prints the command's output only if the command fails. */
async function run(label, command, args) {
  const end = showProgress(label);
  const child = spawn(command, args, {
    cwd: root,
    shell: process.platform === 'win32',
    // Stops the install script of onnxruntime-node from downloading CUDA libraries, which nothing here uses.
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip', TURBO_TELEMETRY_DISABLED: '1' },
  });
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const status = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', resolve);
  });
  end();
  if (status === 0) return;
  console.error(Buffer.concat(output).toString());
  console.error(`${label} failed: \`${command} ${args.join(' ')}\` ended with ${status}.`);
  process.exit(1);
}

/** Checks whether `npm ci` has already run: npm keeps a lockfile of what it installed. */
function isAsLocked() {
  const read = (file) => JSON.parse(readFileSync(path.join(root, file), 'utf8')).packages;
  try {
    const [wanted, present] = [read('package-lock.json'), read('node_modules/.package-lock.json')];
    const isThere = ([place, { version, optional }]) =>
      !place.includes('node_modules/') || optional === true || (place in present && present[place].version === version); // links to our own packages have no version
    return Object.entries(wanted).every(isThere);
  } catch {
    return false; // node_modules is missing, or npm did not write it
  }
}

async function install() {
  if (isInstalled()) return;
  if (!isAsLocked())
    await run('Installing packages (once, about half a minute) ...', 'npm', ['ci', '--no-audit', '--no-fund']);
  rememberInstalled();
}

await install();
await run('Building ...', process.execPath, [
  path.join(root, 'node_modules/turbo/bin/turbo'),
  'run',
  'build',
  '--output-logs=errors-only',
]);
