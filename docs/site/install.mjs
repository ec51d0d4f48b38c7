// Installs the packages of this folder, unless they are as the lockfile says. They are not part of the clone's own
// installation, because only the site needs their 150 MB.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const site = import.meta.dirname;

/** Returns undefined, or one line that says why npm could not install the packages. */
export function installSite() {
  const lock = readFileSync(path.join(site, 'package-lock.json'), 'utf8');
  const mark = path.join(site, 'node_modules/.installed-lock.json');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return undefined;
  const { status, stderr } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: site,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) return String(stderr).trim().split('\n')[0] || `npm ended with ${status}`;
  writeFileSync(mark, lock);
  return undefined;
}

if (process.argv[1] === import.meta.filename) {
  const problem = installSite();
  if (problem !== undefined) console.log(`skipped: ${problem}`);
  process.exitCode = problem === undefined ? 0 : 1;
}
