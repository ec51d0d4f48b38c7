/**
 * `node test/newest/run.mjs`: the adapters as they are published, on the newest majors of their frameworks and under Node 24, all from the npm
 * registry, in a folder of their own. Prints a line for each adapter, and exits 1 where one breaks a promise.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const project = path.join(tmpdir(), 'agentjet-newest');
const ours = ['packages/core', 'packages/tokenizer', 'packages/context-tracker', 'packages/rollout', 'packages/adapter-kit', 'adapters/react', 'adapters/openai', 'adapters/langgraph', 'adapters/ai-sdk', 'adapters/openai-agents'];

const scripts = ['contract.mjs', 'mastra.mjs', 'user-module.mjs'];

const npm = (args, cwd) => execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });

execFileSync(path.join(root, 'node_modules/.bin/tsc'), ['-b', ...ours], { cwd: root, stdio: 'inherit' });
rmSync(path.join(project, 'packed'), { recursive: true, force: true });
mkdirSync(path.join(project, 'packed'), { recursive: true });
for (const dir of ours) npm(['pack', '--pack-destination', path.join(project, 'packed')], path.join(root, dir));

const packed = Object.fromEntries(ours.map((dir) => {
  const { name, version } = JSON.parse(readFileSync(path.join(root, dir, 'package.json'), 'utf8'));
  return [name, `file:packed/${name.replace('@', '').replace('/', '-')}-${version}.tgz`];
}));
const { newest } = JSON.parse(readFileSync(path.join(import.meta.dirname, 'newest.json'), 'utf8'));
writeFileSync(path.join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: { ...newest, ...packed }, overrides: packed }, null, 2));
// Tarballs of the same version may hold new code.
rmSync(path.join(project, 'package-lock.json'), { force: true });
rmSync(path.join(project, 'node_modules/@agentjet'), { recursive: true, force: true });
npm(['install', '--legacy-peer-deps', '--ignore-scripts=false'], project);

for (const file of readdirSync(path.join(root, 'test/adapters')).filter((name) => name.endsWith('-driver.ts'))) copyFileSync(path.join(root, 'test/adapters', file), path.join(project, file));
for (const file of scripts) copyFileSync(path.join(import.meta.dirname, file), path.join(project, file));

const node = path.join(project, 'node_modules/node/bin/node');
const results = scripts.map((file) => spawnSync(node, ['--disable-warning=ExperimentalWarning', file], { cwd: project, stdio: 'inherit' }));
process.exit(results.every(({ status }) => status === 0) ? 0 : 1);
