import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shellOf } from './shell-of.js';

/**
 * `npm run skills:test [-- <skill>] [--json]` runs every command of every skill, in an empty folder that has our packages.
 * A skill fails if one of its commands fails.
 */
const root = path.resolve(import.meta.dirname, '../..');
const args = process.argv.slice(2);
const isJson = args.includes('--json');
const [only] = args.filter((arg) => !arg.startsWith('--'));
const report = (line: string) => (isJson ? console.error(line) : console.log(line));

let commands = 0;
let failed = 0;
const skills = readdirSync(path.join(root, 'skills')).filter((name) => only === undefined || name === only);
for (const name of skills) {
  const shell = shellOf(readFileSync(path.join(root, 'skills', name, 'SKILL.md'), 'utf8'));
  commands += shell.commands;
  const folder = mkdtempSync(path.join(tmpdir(), 'agentjet-skill-'));
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), 'dir');
  const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', shell.script], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 600_000,
    maxBuffer: 1 << 26,
  });
  report(`${name}: ${shell.commands} commands ${status === 0 ? 'succeeded' : `failed with ${status}`}`);
  if (status !== 0) report(`${stdout}${stderr}`.trimEnd().split('\n').slice(-20).join('\n'));
  failed += status === 0 ? 0 : 1;
  rmSync(folder, { recursive: true, force: true });
}
if (skills.length === 0) report(`There is no skill "${only}".`);
console.log(
  isJson ? JSON.stringify({ skills: skills.length, commands, failed }) : `${failed} of ${skills.length} skills failed`,
);
process.exitCode = failed > 0 || skills.length === 0 ? 1 : 0;
