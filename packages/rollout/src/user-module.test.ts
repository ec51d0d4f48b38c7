import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { importUserModule } from './user-module.js';
import { createJudge } from './judge.js';
import { createWorkflow, parseWorkflowSource } from './workflow.js';

const dir = mkdtempSync(path.join(tmpdir(), 'user-module-'));
const write = (name: string, text: string): string => (writeFileSync(path.join(dir, name), text), name);

describe('importUserModule', () => {
  it('says what is wrong with a reference', async () => {
    write('flow.ts', 'export const a = 1; export class Flow {}; export default 5;');
    write('empty.ts', 'export {};');
    expect(await importUserModule('flow.ts->a', dir)).toBe(1);
    expect(await importUserModule('./flow.ts -> default', dir)).toBe(5);
    expect(await importUserModule(`${path.join(dir, 'flow.ts')}->a`, '/')).toBe(1);
    await expect(importUserModule('flow.ts', dir)).rejects.toThrow(/"flow\.ts" does not name an export/);
    await expect(importUserModule('none.ts->Flow', dir)).rejects.toThrow(/none\.ts, which does not exist/);
    await expect(importUserModule('flwo.ts->Flow', dir)).rejects.toThrow(/not exist\. Did you mean flow\.ts\? Paths/);
    await expect(importUserModule('flow.js->Flow', dir)).rejects.toThrow(/not exist\. Did you mean flow\.ts\? Paths/);
    await expect(importUserModule('flow->Flow', dir)).rejects.toThrow(
      /not exist\. Did you mean flow\.ts\? No installed/,
    );
    await expect(importUserModule('.->Flow', dir)).rejects.toThrow(/which is a folder\. Name a file in it\./);
    await expect(importUserModule('@some/other->c', dir)).rejects.toThrow(/No installed package has this name either/);
    await expect(importUserModule('tutorial.math.agent->Flow', dir)).rejects.toThrow(/looks like a Python module/);
    await expect(importUserModule('flow.ts->Flaw', dir)).rejects.toThrow(
      /exports nothing named "Flaw"\. It exports: Flow, a, default\./,
    );
    await expect(importUserModule('empty.ts->Flow', dir)).rejects.toThrow(/exports nothing at all/);
    await expect(importUserModule('flow.ts', dir, 'rollout.user_workflow')).rejects.toThrow(
      /^rollout\.user_workflow "flow\.ts" does not name an export/,
    );
    await expect(importUserModule('none.ts->Flow', dir, 'rollout.user_workflow')).rejects.toThrow(
      /^rollout\.user_workflow .*none\.ts, which does not exist\. Paths are resolved against the folder of the YAML file/,
    );
  });

  it('keeps the error of a module that throws at load, and its line', async () => {
    write('boom.ts', 'type Unused = { x: number };\n\nexport const y = (undefined as unknown as { x: number }).x;\n');
    await expect(importUserModule('boom.ts->y', dir)).rejects.toMatchObject({
      code: 'module_failed',
      message: expect.stringMatching(/reading 'x'[\s\S]*boom\.ts:3/),
      cause: expect.any(TypeError),
    });
  });
});

describe('in plain Node', () => {
  const root = path.resolve(import.meta.dirname, '../../..');

  function writeProject(type: string): string {
    const project = mkdtempSync(path.join(tmpdir(), `project-${type}-`));
    if (type !== 'none') writeFileSync(path.join(project, 'package.json'), JSON.stringify({ type }));
    writeFileSync(
      path.join(project, 'helper.ts'),
      'export enum Kind { A = "a" }\ninterface Padding { x: 1 }\n\nexport function fail(): never {\n  throw new TypeError("user bug");\n}\n',
    );
    writeFileSync(
      path.join(project, 'flow.ts'),
      `import { Workflow } from '${path.join(import.meta.dirname, 'workflow.ts')}';\nimport { fail } from './helper';\nexport class Flow extends Workflow {\n  async execute() {\n    return fail();\n  }\n}\n`,
    );
    return project;
  }

  it('loads TypeScript with its own lines and our own classes, even if package.json says otherwise', () => {
    const projects = ['module', 'commonjs', 'none'].map(writeProject);
    const script = `
      import { importUserModule } from ${JSON.stringify(path.join(import.meta.dirname, 'user-module.ts'))};
      import { Workflow } from ${JSON.stringify(path.join(import.meta.dirname, 'workflow.ts'))};
      for (const project of ${JSON.stringify(projects)}) {
        const Flow = await importUserModule('flow.ts->Flow', project);
        const stack = await new Flow().execute().catch((error) => error.stack);
        console.log(Object.getPrototypeOf(Flow) === Workflow, stack.split('\\n').slice(0, 3).join());
      }`;
    const env = { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.check.json'), NODE_OPTIONS: '' };
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
    const expected = projects.map(
      (project) =>
        `true TypeError: user bug,    at fail (${project}/helper.ts:5:9),    at Flow.execute (${project}/flow.ts:5:12)\n`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: expected.join(''), stderr: '' });
  });
});

describe('a folder without node_modules', () => {
  const root = path.resolve(import.meta.dirname, '../../..');
  const project = mkdtempSync(path.join(tmpdir(), 'bare-'));

  function load(...files: readonly string[]): { readonly stdout: string; readonly stderr: string } {
    const script = `
      import { importUserModule } from ${JSON.stringify(path.join(import.meta.dirname, 'user-module.ts'))};
      delete process.env.TSX_TSCONFIG_PATH;
      for (const file of ${JSON.stringify(files)})
        console.log(await importUserModule(file + '->found', ${JSON.stringify(project)}).catch((error) => error.message));`;
    const env = { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.check.json'), NODE_OPTIONS: '' };
    return spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
  }

  it('has the packages that are installed next to ours', () => {
    writeFileSync(
      path.join(project, 'flow.ts'),
      "import { register } from 'tsx/esm/api';\nexport const found: string = typeof register;\n",
    );
    expect(load('flow.ts')).toMatchObject({ stdout: 'function\n', stderr: '' });
  });

  it('has installed packages, each of which decides what is loaded', () => {
    const made = path.join(project, 'node_modules/@some/scorers');
    mkdirSync(made, { recursive: true });
    const exports = { '.': { import: './esm.mjs' }, './more': './more.mjs' };
    writeFileSync(path.join(made, 'package.json'), JSON.stringify({ name: '@some/scorers', exports }));
    writeFileSync(path.join(made, 'esm.mjs'), "export const found = 'all';");
    writeFileSync(path.join(made, 'more.mjs'), "export const found = 'more';");
    const { stdout } = load(made, `${made}/more`, `${made}/less`);
    expect(stdout).toMatch(/^all\nmore\n.*scorers\/less->found" could not be loaded: .*'\.\/less' is not defined/);
  });

  it('may hold JavaScript of either kind without saying which', () => {
    writeFileSync(
      path.join(project, 'modern.js'),
      "import path from 'node:path';\nexport const found = path.basename('/a/modern');\n",
    );
    writeFileSync(
      path.join(project, 'classic.js'),
      "const path = require('node:path');\nexports.found = path.basename('/a/classic');\n",
    );
    expect(load('modern.js', 'classic.js')).toMatchObject({ stdout: 'modern\nclassic\n', stderr: '' });
  });

  it('may hold CommonJS that requires TypeScript', () => {
    writeFileSync(path.join(project, 'typed.ts'), 'enum Kind { A = 1 }\nexport const found: Kind = Kind.A;\n');
    writeFileSync(path.join(project, 'classic.cjs'), "exports.found = require('./typed.ts').found;\n");
    expect(load('classic.cjs')).toMatchObject({ stdout: '1\n', stderr: '' });
  });

  it('still shows the warnings of its code', () => {
    writeFileSync(path.join(project, 'warns.ts'), "process.emitWarning('old key');\nexport const found = 1;\n");
    expect(load('warns.ts').stderr).toContain('Warning: old key');
  });

  it('says in which file and line a module fails to load', () => {
    const fails = {
      'throws.ts': ["type Line = 1;\n\nexport const found = JSON.parse('{') as Line;\n", 'throws.ts:3:'],
      'classic.cjs': ['// first\nexports.found = undefined.b;\n', 'classic.cjs:2:'],
      'absent.ts': ["// first\nimport { found } from './gone.js';\nexport { found };\n", 'absent.ts:2'],
      'unnamed.ts': ["// first\nimport { gone } from './typed.js';\nexport const found = gone;\n", 'unnamed.ts:2'],
      'cut.ts': ['export const found = (;\n', 'cut.ts:1:'],
      'text.ts': ["throw 'no key';\nexport const found = 1;\n", 'no key\n    thrown by'],
    };
    writeFileSync(path.join(project, 'typed.ts'), 'export const found = 1;\n');
    for (const [name, [text = '']] of Object.entries(fails)) writeFileSync(path.join(project, name), text);
    const { stdout } = load(...Object.keys(fails));
    for (const [, place] of Object.values(fails)) expect(stdout).toContain(place);
  });

  it('has the path aliases of the nearest tsconfig.json, in any working directory', () => {
    const files = {
      'tsconfig.json': '{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }',
      'lib/thing.ts': 'export const found: string = "the alias";\n',
      'src/flow.ts': "export { found } from '@/thing';\n",
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(project, 'aliased', name)), { recursive: true });
      writeFileSync(path.join(project, 'aliased', name), text);
    }
    expect(load('aliased/src/flow.ts')).toMatchObject({ stdout: 'the alias\n', stderr: '' });
  });

  it('is still named where a package is found nowhere', () => {
    writeFileSync(path.join(project, 'typo.ts'), "import { found } from 'agentjett';\nexport { found };\n");
    expect(load('typo.ts').stdout).toContain(
      `Cannot find package 'agentjett' imported from ${path.join(project, 'typo.ts')}`,
    );
  });
});

describe('what a module exports', () => {
  it('is narrowed to a workflow', () => {
    class Flow {
      async execute() {
        return { reward: 1 };
      }
    }
    expect(createWorkflow(parseWorkflowSource(Flow, 'flow.ts->Flow'))).toBeInstanceOf(Flow);
    expect(() => parseWorkflowSource(5, 'flow.ts->five')).toThrow(
      /flow\.ts->five is not a workflow: it is of type number/,
    );
    expect(() => parseWorkflowSource(new Flow(), 'flow.ts->flow')).toThrow(/Export the class itself/);
  });

  it('is narrowed to a judge', () => {
    class Strict {
      judge = () => ({ reward: 0, isSuccess: false });
    }
    class Broken {
      constructor() {
        throw new Error('no key');
      }
    }
    const task = { taskId: 't', mainQuery: '', initMessages: [], metadata: {} };
    const { signal } = new AbortController();
    const context = { episodeId: 'e', signal, seed: 1, transcripts: [], environment: null };
    expect(createJudge(Strict, 'j.ts->Strict').judge(task, {}, context)).toEqual({ reward: 0, isSuccess: false });
    expect(createJudge(new Strict(), 'j.ts->strict').judge(task, {}, context)).toEqual({ reward: 0, isSuccess: false });
    expect(createJudge(() => ({ reward: 2, isSuccess: true }), 'j.ts->f').judge(task, {}, context)).toEqual({
      reward: 2,
      isSuccess: true,
    });
    expect(() => createJudge({}, 'j.ts->o')).toThrow(/j\.ts->o is not a judge/);
    expect(() => createJudge(Broken, 'j.ts->Broken')).toThrow(/j\.ts->Broken threw while it was constructed: no key/);
  });
});
