/** Users' TypeScript also loads under the newest Node. This test runs in the project that project.mjs makes. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');
// The script runs in a separate Node, because vitest would load the modules itself.
const script = `
  import { importUserModule, Workflow } from '@agentjet/rollout';
  const Flow = await importUserModule('flow.ts->Flow', process.argv[1]);
  const stack = await new Flow().execute().catch((error) => error.stack);
  console.log(Object.getPrototypeOf(Flow) === Workflow, stack);`;

it.each(['module', 'commonjs', 'none'])('loads TypeScript in a package of type %s, with its own lines', (type) => {
  const dir = path.join(root, 'projects', type);
  mkdirSync(dir, { recursive: true });
  writeFileSync(`${dir}/package.json`, JSON.stringify(type === 'none' ? {} : { type }));
  writeFileSync(
    `${dir}/helper.ts`,
    'export enum Kind { A = "a" }\ninterface Padding { x: 1 }\n\nexport function fail(): never {\n  throw new TypeError("user bug");\n}\n',
  );
  writeFileSync(
    `${dir}/flow.ts`,
    "import { Workflow } from '@agentjet/rollout';\nimport { fail } from './helper';\nexport class Flow extends Workflow {\n  async execute() {\n    return fail();\n  }\n}\n",
  );
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script, dir], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '' },
    encoding: 'utf8',
  });
  expect(`${stdout}${stderr}`).toMatch(/^true TypeError: user bug[^]*helper\.ts:5:9[^]*flow\.ts:5:12/);
});
