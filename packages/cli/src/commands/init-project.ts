import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, isBundledModel, quoteForShell } from '@agentjet/core';
import { isModule } from '../init/complete-manifest.js';
import {
  type Framework,
  frameworks,
  isFramework,
  type PlanOptions,
  planProject,
  type Project,
} from '../init/plan-project.js';
import { planSkills, usualSkillsFolder } from '../init/plan-skills.js';
import { writeProject } from '../init/write-project.js';

/** Runs `ajet init`, which writes a project that can be trained unchanged. Returns the exit code. */
export async function initProject(folder: string, options: InitOptions): Promise<number> {
  const dir = path.resolve(folder);
  const { model, version } = options;
  const skills = options.skills === true ? usualSkillsFolder : options.skills;
  if (skills !== undefined && options.framework === undefined && model === undefined) return copySkills(dir, skills);
  const given = model === undefined ? {} : await findModel(dir, model);
  const framework = parseFramework(options.framework, model);
  const project = planProject(framework, { name: toPackageName(dir), version, ...given });
  const { written, completed, kept } = await writeProject(
    dir,
    new Map([...project.files, ...(skills === undefined ? [] : skillsFor(skills))]),
  );
  printWritten(dir, written);
  if (completed) console.log('Completed: package.json');
  printKept(kept);
  if (!isModule(path.join(dir, 'package.json')))
    console.log('These files are ES modules: package.json needs "type": "module".');
  console.log(['', 'Next:', ...listSteps(dir, { ...project, ...given, kept })].join('\n'));
  if (skills === undefined) console.log(offerSkills());
  return 0;
}

export type InitOptions = {
  readonly framework?: string | undefined;
  readonly model?: string | undefined;
  /** The folder in the project that gets the skills for coding assistants. True: the usual one. */
  readonly skills?: string | true | undefined;
  readonly version: string;
};

/** Returns a file that exists as it is seen from the project. Throws ConfigError if the model is neither a path nor a name. */
async function findModel(dir: string, model: string): Promise<Pick<PlanOptions, 'model' | 'isModelHere'>> {
  const { kindOfModel } = await import('@agentjet/models');
  if (kindOfModel(model) === 'name') return { model };
  if (path.isAbsolute(model) || !existsSync(model)) return { model, isModelHere: true };
  const seen = path.relative(dir, path.resolve(model));
  return { model: seen.startsWith('.') ? seen : `./${seen}`, isModelHere: true };
}

const printWritten = (dir: string, written: readonly string[]): void =>
  console.log(
    written.length === 0 ? `${dir} already has all files of the project.` : `Written to ${dir}: ${written.join(', ')}`,
  );

function printKept(kept: readonly string[]): void {
  if (kept.length > 0) console.log(`Not changed: ${kept.join(', ')}`);
}

const offerSkills = (): string =>
  [
    '',
    'For a coding assistant:',
    `  ${'npx ajet init --skills'.padEnd(44)} # copies skills to ${usualSkillsFolder}, such as write-a-reward`,
  ].join('\n');

/** Copies only the skills, for a project that exists. */
async function copySkills(dir: string, folder: string): Promise<number> {
  const { written, kept } = await writeProject(dir, skillsFor(folder));
  printWritten(dir, written);
  printKept(kept);
  return 0;
}

/** Throws ConfigError if the folder is outside the project, or if the package has no skills. */
function skillsFor(folder: string): ReadonlyMap<string, string> {
  const place = path.normalize(folder);
  if (path.isAbsolute(place) || /^\.\.?([/\\]|$)/.test(place))
    throw new ConfigError(
      'wrong_value',
      `--skills is ${JSON.stringify(folder)}. Name a folder in the project, such as ${usualSkillsFolder}.`,
    );
  const skills = planSkills(place);
  if (skills.size > 0) return skills;
  throw new ConfigError(
    'wrong_value',
    'The installed package agentjet has no skills. Install it from the same release.',
  );
}

/** The framework that most agents use, for a command line that names only the model. */
const defaultFramework = 'langgraph';

function parseFramework(framework: string | undefined, model: string | undefined): Framework {
  if (framework !== undefined && isFramework(framework)) return framework;
  if (framework === undefined && model !== undefined) {
    console.log(
      `The agent uses ${defaultFramework}. To choose another framework: --framework ${frameworks.join('|')}.`,
    );
    return defaultFramework;
  }
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

type Written = Pick<Project, 'dependencies' | 'model'> &
  Pick<PlanOptions, 'isModelHere'> & { readonly kept: readonly string[] };

function listSteps(dir: string, { dependencies, kept, model, isModelHere = false }: Written): readonly string[] {
  const missing = Object.entries(dependencies).filter(([name]) => findInstalled(dir, name) === undefined);
  const here = path.relative(process.cwd(), dir);
  const run = 'npx ajet --conf agent.yaml';
  const steps = [
    ...(here === '' ? [] : [[`cd ${quoteForShell(here)}`, '']]),
    ...(missing.length === 0 ? [] : [[describeInstall(dir, missing, kept), '']]),
    ...(isBundledModel(model) || isModelHere
      ? []
      : [[`npx ajet model get ${quoteForShell(model)}`, 'downloads the model, once']]),
    ['npx ajet probe agent.yaml', 'predicts how training would go; trains nothing'],
    [`${run} --backbone=debug`, 'runs a few episodes and prints them'],
    [run, isBundledModel(model) ? 'trains; the reward rises within two minutes' : 'trains'],
  ] as const;
  return steps.map(([command = '', comment = '']) =>
    comment === '' ? `  ${command}` : `  ${command.padEnd(44)} # ${comment}`,
  );
}

/**
 * The install command. It turns install scripts off, because npm before 11.16 ignores allowScripts and would run them.
 */
const install = 'npm install --ignore-scripts';

/**
 * Returns the command that installs the packages. If a parent folder has our packages, this project uses them, and
 * other packages must be installed next to them.
 */
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
