// Prepares what `npm start` and `npm test` need: installed packages and a build. A second run does nothing.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isInstalled, rememberInstalled, root } from './installed.mjs';

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`AgentJet needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

/** Runs a command. It prints the command's output only if the command fails. */
function run(label, command, args) {
  console.error(label);
  const result = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    shell: process.platform === 'win32',
    // Stops the install script of onnxruntime-node from downloading CUDA libraries, which nothing here uses.
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip', TURBO_TELEMETRY_DISABLED: '1' },
  });
  if (result.status === 0) return;
  console.error(result.stdout ?? '', result.stderr ?? '', result.error ?? '');
  console.error(`${label} failed: \`${command} ${args.join(' ')}\` ended with ${result.status}.`);
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

function install() {
  if (isInstalled()) return;
  if (!isAsLocked())
    run('Installing packages (once, about half a minute) ...', 'npm', ['ci', '--no-audit', '--no-fund']);
  rememberInstalled();
}

refuseOldNode();
install();
run('Building ...', process.execPath, [
  path.join(root, 'node_modules/turbo/bin/turbo'),
  'run',
  'build',
  '--output-logs=errors-only',
]);
