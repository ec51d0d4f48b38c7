import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AgentJetJob, type JobEvent } from 'agentjet';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { initProject } from '../commands/init-project.js';
import { frameworks, isFramework, planProject } from './plan-project.js';

const root = path.join(import.meta.dirname, '../../../..');
let dir = '';
let lines: string[] = [];
beforeEach(() => {
  // The folder is in the repository, so the projects find its packages.
  mkdirSync(path.join(root, 'saved_experiments'), { recursive: true });
  dir = mkdtempSync(path.join(root, 'saved_experiments/init-'));
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(...line.split('\n')));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

const init = (folder: string, framework: string | undefined, model?: string): Promise<number> =>
  initProject(folder, { framework, model, version: '0.1.0' });

const smallRun = [
  'trainer_common.total_training_steps=2',
  'trainer_common.test_freq=0',
  'trainer_common.val_before_train=false',
  'data.train_batch_size=2',
  'rollout.num_repeat=2',
  'onnx.num_threads=1',
];

/** The other frameworks are tried with the long tests, because each trains. */
const tried = process.env['AJET_LONG_TESTS'] === '1' ? frameworks : ['react', 'langgraph'];

it.each(tried)('writes a project with %s that trains as it is', async (framework) => {
  await init(dir, framework);
  expect(lines.join('\n')).toMatch(
    /npx ajet probe agent\.yaml .*\n.*--backbone=debug.*\n.*npx ajet --conf agent\.yaml {2}.*trains/,
  );
  const events: JobEvent[] = [];
  const { policyVersion } = await new AgentJetJob()
    .loadJobFromYaml(path.join(dir, 'agent.yaml'), [...smallRun, `ajet.experiment_dir=${dir}/runs`])
    .tune({ onEvent: (event) => void events.push(event) });
  const episodes = events.flatMap((event) => (event.type === 'episode_finished' ? [event.episode] : []));
  expect(policyVersion).toBe(2);
  expect(episodes.every(({ turns }) => turns.length > 0)).toBe(true);
  expect(episodes.some(({ status }) => status === 'completed')).toBe(true);
});

it('writes settings for the model that is named, and takes LangGraph unless another framework is named', async () => {
  await init(dir, undefined, 'smollm2-135m');
  expect(lines).toContainEqual(expect.stringMatching(/^The agent uses langgraph\. .*--framework langgraph\|openai/));
  expect(lines).toContainEqual(expect.stringMatching(/npx ajet model get smollm2-135m .*once/));
  const settings = readFileSync(path.join(dir, 'agent.yaml'), 'utf8');
  expect(settings).toMatch(/ {4}path: smollm2-135m\n/);
  expect(settings).toMatch(/lr: auto/); // the rate of nano would ruin it
  expect(readFileSync(path.join(dir, 'README.md'), 'utf8')).not.toMatch(/\{\{|nano/);
});

it.each(['my models/a "b"', 'C:\\models\\tiny'])('writes any path of a model into the settings: %s', async (model) => {
  await init(dir, 'react', model);
  const settings = readFileSync(path.join(dir, 'agent.yaml'), 'utf8');
  expect(JSON.parse(/path: (.*)/.exec(settings)?.[1] ?? '')).toBe(model); // a JSON string is a YAML string
});

it('names a file as it is seen from the project, and downloads nothing', async () => {
  const file = path.join(dir, 'tiny.gguf');
  writeFileSync(file, '');
  await init(path.join(dir, 'project'), 'react', path.relative(process.cwd(), file));
  expect(readFileSync(path.join(dir, 'project/agent.yaml'), 'utf8')).toMatch(/path: "?\.\.[/\\]+tiny\.gguf/);
  expect([lines.join('\n'), readFileSync(path.join(dir, 'project/README.md'), 'utf8')].join()).not.toMatch(/model get/);
});

it('refuses a model that is neither a path nor a name, before it writes anything', async () => {
  await expect(init(path.join(dir, 'project'), 'react', 'smollm3')).rejects.toThrow(
    '"smollm3" is not the name of a model on the hub',
  );
  expect(readdirSync(dir)).toEqual([]);
});

it('names versions of the frameworks that this repository is tested with', () => {
  const readTested = (dir: string): Readonly<Record<string, string>> => {
    const manifest: unknown = JSON.parse(readFileSync(path.join(root, dir, 'package.json'), 'utf8'));
    return (manifest as { readonly devDependencies?: Readonly<Record<string, string>> }).devDependencies ?? {};
  };
  for (const framework of frameworks.filter(isFramework)) {
    const { dependencies } = planProject(framework, { name: 'x', version: '0.1.0' });
    const tested = { ...readTested('.'), ...readTested(`adapters/${framework}`) };
    const others = Object.entries(dependencies).filter(([name]) => !/^(@agentjet\/|agentjet$)/.test(name));
    for (const [name, version] of others) expect([name, tested[name]]).toEqual([name, version]);
  }
});

it('overwrites nothing: keeps what a project may have, and refuses a folder with other sources', async () => {
  writeFileSync(path.join(dir, 'package.json'), '{"name":"mine"}');
  await init(dir, 'react');
  expect(readFileSync(path.join(dir, 'package.json'), 'utf8')).toBe('{"name":"mine"}');
  expect(lines).toContain('Not changed: package.json');
  await init(dir, 'react');
  expect(lines).toContain(`${dir} already has all files of the project.`);

  const agent = readFileSync(path.join(dir, 'agent.ts'), 'utf8');
  await expect(init(dir, 'openai')).rejects.toThrow('has its own agent.ts, workflow.ts');
  expect(readFileSync(path.join(dir, 'agent.ts'), 'utf8')).toBe(agent);
});

it('completes a package.json that npm alone wrote, and keeps its dependencies', async () => {
  const agentjet = 'file:../packed/agentjet-0.1.0.tgz';
  writeFileSync(path.join(dir, 'package.json'), JSON.stringify({ dependencies: { agentjet } }));
  await init(dir, 'langgraph');
  const manifest: unknown = JSON.parse(readFileSync(path.join(dir, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ type: 'module', scripts: { start: 'ajet --conf agent.yaml' } });
  expect(manifest).toMatchObject({ dependencies: { agentjet, langchain: '1.5.14', '@agentjet/langgraph': '0.1.0' } });
  expect(lines).toContain('Completed: package.json');
  expect(lines.join()).not.toContain('Not changed');
});

it('leaves a package.json alone if it refuses the folder', async () => {
  const manifest = JSON.stringify({ dependencies: { agentjet: '0.1.0' } });
  writeFileSync(path.join(dir, 'package.json'), manifest);
  writeFileSync(path.join(dir, 'agent.ts'), '');
  await expect(init(dir, 'react')).rejects.toThrow('has its own agent.ts');
  expect(readFileSync(path.join(dir, 'package.json'), 'utf8')).toBe(manifest);
});

it('offers the skills, and copies those of this version on request, without losing changes', async () => {
  await init(dir, 'react');
  expect(lines).toContainEqual(expect.stringMatching(/npx ajet init --skills .*skills to \.claude\/skills/));
  const skills = readdirSync(path.join(root, 'skills'));
  expect(skills).toHaveLength(6);
  const options = { version: '0.1.0' };
  await initProject(dir, { ...options, skills: true });
  const fileOf = (name: string): string => path.join(dir, '.claude/skills', name, 'SKILL.md');
  for (const name of skills)
    expect(readFileSync(fileOf(name), 'utf8')).toBe(readFileSync(path.join(root, 'skills', name, 'SKILL.md'), 'utf8'));

  writeFileSync(fileOf('first-run'), 'mine');
  await initProject(dir, { ...options, skills: true });
  expect(readFileSync(fileOf('first-run'), 'utf8')).toBe('mine');
  expect(lines).toContain('Not changed: .claude/skills/first-run/SKILL.md');
  await expect(initProject(dir, { ...options, skills: '../elsewhere' })).rejects.toThrow('--skills is "../elsewhere"');
});

it('writes project and skills together, also to another folder', async () => {
  await initProject(dir, { framework: 'react', skills: '.agents/skills', version: '0.1.0' });
  expect(lines[0]).toMatch(/agent\.yaml.*\.agents\/skills\/first-run\/SKILL\.md/);
  expect(lines.join('\n')).not.toContain('npx ajet init --skills');
});

it("says that the files of somebody else's CommonJS project would be ES modules", async () => {
  writeFileSync(path.join(dir, 'package.json'), '{"name":"mine"}');
  await init(dir, 'react');
  expect(lines).toContain('These files are ES modules: package.json needs "type": "module".');
});

it('says which packages an own package.json lacks', async () => {
  const outside = mkdtempSync(path.join(tmpdir(), 'ajet-init-'));
  writeFileSync(path.join(outside, 'package.json'), '{}');
  await init(outside, 'openai');
  rmSync(outside, { recursive: true });
  expect(lines).toContain(
    '  npm install --ignore-scripts agentjet@0.1.0 @agentjet/cli@0.1.0 @agentjet/onnx@0.1.0 @agentjet/openai@0.1.0 openai@6.49.0',
  );
});

it('refuses a framework that it does not know, and a file in place of the folder', async () => {
  await expect(init(dir, 'crewai')).rejects.toThrow('--framework is "crewai". There are langgraph, openai,');
  await expect(init(dir, undefined)).rejects.toThrow('--framework langgraph|openai|');
  writeFileSync(path.join(dir, 'file'), '');
  await expect(init(path.join(dir, 'file'), 'react')).rejects.toThrow('is a file. Name a folder');
  expect(readdirSync(dir)).toEqual(['file']);
});
