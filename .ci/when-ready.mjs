// `node .ci/when-ready.mjs <program> [argument ...]` runs a program after `.ci/setup.mjs` has prepared everything. If
// npm's setting `ignore-scripts` is on, setup.mjs has not run, so this script prints the command to run first. The
// program runs in this process, so npm's signals reach it.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isInstalled, root } from './installed.mjs';

const bins = { tsx: 'node_modules/tsx/dist/cli.mjs', biome: 'node_modules/@biomejs/biome/bin/biome' };

const [name, ...args] = process.argv.slice(2);
const { npm_lifecycle_event: script = '', npm_config_ignore_scripts: ignored } = process.env;
const isReady = isInstalled() && existsSync(path.join(root, 'packages/cli/dist/main.js'));
if (ignored === 'true' || !isReady) console.error(describe());
if (isReady) {
  const file = path.join(root, bins[name] ?? name);
  process.argv = [process.argv[0], file, ...args];
  await import(pathToFileURL(file).href);
} else process.exitCode = 1;

function describe() {
  const why = ignored === 'true' ? "npm's setting ignore-scripts is on, so nothing" : 'Nothing';
  if (isReady) return `${why} is installed or built again. After a change, run: node .ci/setup.mjs`;
  const again = ['start', 'test'].includes(script) ? `npm ${script}` : `npm run ${script}`;
  return `${why} is installed or built yet. Run: node .ci/setup.mjs${script === '' ? '' : `\nThen run again: ${again}`}`;
}
