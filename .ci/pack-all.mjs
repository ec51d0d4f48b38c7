// `npm run pack:all [folder]` makes the packages into one folder, and prints the line that installs them.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { quoteForShell } from '@agentjet/core';

const root = path.dirname(import.meta.dirname);
const folder = path.resolve(process.argv[2] ?? path.join(root, 'packed'));
mkdirSync(folder, { recursive: true });
// Removes packages of an earlier version, because the install line names all *.tgz of the folder.
for (const name of readdirSync(folder)) if (name.endsWith('.tgz')) rmSync(path.join(folder, name));

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const printed = execFileSync(npm, ['pack', '--workspaces', '--json', '--pack-destination', folder], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  stdio: ['ignore', 'pipe', 'inherit'],
  shell: process.platform === 'win32',
});
/** Skips what lifecycle scripts print before the list. From npm 11.19 on, the list is an object keyed by name. */
const parsed = JSON.parse(printed.slice(printed.search(/^[[{]/m)));
/** @type {readonly { filename: string, size: number, unpackedSize: number }[]} */
const packed = Array.isArray(parsed) ? parsed : Object.values(parsed);
const megabytes = (/** @type {'size' | 'unpackedSize'} */ key) =>
  (packed.reduce((sum, each) => sum + each[key], 0) / 1e6).toFixed(1);
console.log(
  `${packed.length} packages in ${folder}: ${megabytes('size')} MB, unpacked ${megabytes('unpackedSize')} MB.`,
);
// Prints `--ignore-scripts`, because no package needs its install script, and that of onnxruntime-node downloads CUDA
// libraries.
console.log(`In your project: npm install --ignore-scripts ${path.join(quoteForShell(folder), '*.tgz')}`);
