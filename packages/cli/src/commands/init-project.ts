import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, quoteForShell } from '@agentjet/core';
import { isModule } from '../init/complete-manifest.js';
import { frameworks, isFramework, planProject } from '../init/plan-project.js';
import { writeProject } from '../init/write-project.js';

/** `ajet init`: writes a project that trains as it is. Returns the exit code. */
export async function initProject(
  folder: string,
  { framework, version }: { readonly framework: string | undefined; readonly version: string },
): Promise<number> {
  const dir = path.resolve(folder);
  const project = planProject(parseFramework(framework), { name: toPackageName(dir), version });
  const { written, completed, kept } = await writeProject(dir, project.files);
  console.log(written.length === 0 ? `${dir} has all of it already.` : `Written to ${dir}: ${written.join(', ')}`);
  if (completed) console.log('Completed: package.json');
  if (kept.length > 0) console.log(`Left as it was: ${kept.join(', ')}`);
  if (!isModule(path.join(dir, 'package.json')))
    console.log('These files are ES modules: package.json needs "type": "module".');
  console.log(['', 'Next:', ...listSteps(dir, project.dependencies, kept)].join('\n'));
  return 0;
}

function parseFramework(framework: string | undefined): Parameters<typeof planProject>[0] {
  if (framework !== undefined && isFramework(framework)) return framework;
  const names = frameworks.join(', ');
  throw new ConfigError(
    'wrong_value',
    framework === undefined
      ? `Name the framework of the agent: --framework ${frameworks.join('|')}.`
      : `--framework is ${JSON.stringify(framework)}. There are ${names}.`,
  );
}

/** What npm takes for a name, made from the folder's. */
function toPackageName(dir: string): string {
  const name = path
    .basename(dir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '');
  return name === '' ? 'my-agent' : name;
}

function listSteps(
  dir: string,
  dependencies: Readonly<Record<string, string>>,
  kept: readonly string[],
): readonly string[] {
  const missing = Object.entries(dependencies).filter(([name]) => findInstalled(dir, name) === undefined);
  const here = path.relative(process.cwd(), dir);
  const run = 'npx ajet --conf agent.yaml';
  const steps = [
    ...(here === '' ? [] : [[`cd ${quoteForShell(here)}`, '']]),
    ...(missing.length === 0 ? [] : [[describeInstall(dir, missing, kept), '']]),
    [`${run} --backbone=debug`, 'a few episodes, printed'],
    [run, 'trains; the reward rises within two minutes'],
  ] as const;
  return steps.map(([command = '', comment = '']) =>
    comment === '' ? `  ${command}` : `  ${command.padEnd(44)} # ${comment}`,
  );
}

/** npm before 11.16 does not read allowScripts, and would run them. */
const install = 'npm install --ignore-scripts';

/** Packages of ours that lie in a folder above serve this project too; others belong beside them. */
function describeInstall(
  dir: string,
  missing: readonly (readonly [name: string, version: string])[],
  kept: readonly string[],
): string {
  const packages = missing.map(([name, version]) => quoteForShell(`${name}@${version}`)).join(' ');
  const owner = findInstalled(dir, 'agentjet');
  if (owner !== undefined && owner !== dir)
    return `${install} --prefix ${quoteForShell(path.relative(dir, owner))} ${packages}`;
  return kept.includes('package.json') ? `${install} ${packages}` : install;
}

/** As Node looks for packages: the folder, or the nearest above it, whose node_modules has this one. */
function findInstalled(dir: string, name: string): string | undefined {
  if (existsSync(path.join(dir, 'node_modules', name, 'package.json'))) return dir;
  const parent = path.dirname(dir);
  return parent === dir ? undefined : findInstalled(parent, name);
}
