/** Users' TypeScript loads under the newest Node too. Runs in the folder that run.mjs makes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { importUserModule, Workflow } from '@agentjet/rollout';

for (const type of ['module', 'commonjs', 'none']) {
  const dir = `projects/${type}`;
  mkdirSync(dir, { recursive: true });
  writeFileSync(`${dir}/package.json`, JSON.stringify(type === 'none' ? {} : { type }));
  writeFileSync(`${dir}/helper.ts`, 'export enum Kind { A = "a" }\ninterface Padding { x: 1 }\n\nexport function fail(): never {\n  throw new TypeError("user bug");\n}\n');
  writeFileSync(`${dir}/flow.ts`, "import { Workflow } from '@agentjet/rollout';\nimport { fail } from './helper';\nexport class Flow extends Workflow {\n  async execute() {\n    return fail();\n  }\n}\n");
  const Flow = await importUserModule('flow.ts->Flow', dir);
  const stack = await new Flow().execute().catch((error) => error.stack);
  const isRight = Object.getPrototypeOf(Flow) === Workflow && /helper\.ts:5:9[^]*flow\.ts:5:12/.test(stack);
  console.log(`${isRight ? 'ok  ' : 'FAIL'} TypeScript in a package of type ${type}${isRight ? '' : `\n${stack}`}`);
  if (!isRight) process.exitCode = 1;
}
