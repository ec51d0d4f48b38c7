import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, quoteForShell } from '@agentjet/core';
import { isModule } from '../init/complete-manifest.js';
import { frameworks, isFramework, planProject } from '../init/plan-project.js';
import { writeProject } from '../init/write-project.js';

/** Runs `ajet init`, which writes a project that can be trained unchanged. Returns the exit code. */
export async function initProject(
  folder: string,
  { framework, version }: { readonly framework: string | undefined; readonly version: string },
): Promise<number> {
  const dir = path.resolve(folder);
  const project = planProject(parseFramework(framework), { name: toPackageName(dir), version });
  const { written, completed, kept } = await writeProject(dir, project.files);
  console.log(written.length === 0 ? `${dir} has all of it already.` : `Written to ${dir}: ${written.join(', ')}`);
  if (completed) console.log('Completed: package.json');
  if (kept.length > 0) console.log(`Not changed: ${kept.join(', ')}`);
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

/** Makes a valid npm name from the folder's name. */
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
    [`${run} --backbone=debug`, 'runs a few episodes and prints them'],
    [run, 'trains; the reward rises within two minutes'],
  ] as const;
  return steps.map(([command = '', comment = '']) =>
    comment === '' ? `  ${command}` : `  ${command.padEnd(44)} # ${comment}`,
  );
}

/** npm before 11.16 does not read allowScripts and would run the install scripts. */
const install = 'npm install --ignore-scripts';

/** Packages of ours in a folder above serve this project too. Other packages must be installed next to them. */
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

/** Finds the folder as Node does: the nearest one, at or above the project, whose node_modules has the package. */
function findInstalled(dir: string, name: string): string | undefined {
  if (existsSync(path.join(dir, 'node_modules', name, 'package.json'))) return dir;
  const parent = path.dirname(dir);
  return parent === dir ? undefined : findInstalled(parent, name);
}
