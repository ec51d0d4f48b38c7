import { workspaces } from '../../../../.ci/workspaces.mjs';
import { doorsOfAgents } from '../../../boundaries/doors-of-agents.js';
import type { DoorProject, Place } from '../door-project.js';

/** Checks the types of projects that import our packages, with `skipLibCheck: false`. */

const typescript = 'typescript@5.9.3';
const frameworks = [
  'langchain@1.5.14',
  '@langchain/core@1.2.13',
  '@langchain/langgraph@1.4.17',
  'openai@6.49.0',
  '@anthropic-ai/sdk@1.12.0',
  '@google/genai@2.32.0',
];
/** These frameworks bring undici, whose types need @types/node, into the types of OpenAI's client. */
const withoutUndici = ['-ai-sdk', '-openai-agents'];

/** An agent of each framework whose classes differ between CommonJS and ES modules. */
const agent = `import { asModel } from '@agentjet/langgraph';
import { asModel as asClient } from '@agentjet/openai';
import { HumanMessage } from '@langchain/core/messages';
import { createAgent } from 'langchain';
import OpenAI from 'openai';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';

export async function solve(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const agent = createAgent({ model: asModel(tuner, { agentName: 'one' }), tools: [] });
  const { messages } = await agent.invoke({ messages: [new HumanMessage(task.mainQuery)] });
  const client: OpenAI = asClient(tuner, { agentName: 'two' });
  await client.chat.completions.create({ model: 'any', messages: [{ role: 'user', content: 'x' }] });
  return { reward: messages.length };
}
`;

/** An agent without a framework. */
const plain = `import { asModel } from '@agentjet/react';
import { AgentJetJob, type Task, type Tuner, type WorkflowOutput } from 'agentjet';

export async function solve(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const { message } = await asModel(tuner, { agentName: 'one' }).generate({
    messages: [{ role: 'user', content: task.mainQuery }],
  });
  return { reward: message.content.length };
}
export const job = new AgentJetJob().setWorkflow(solve);
`;

/** Imports all of these entry points. */
const importAll = (doors: readonly string[]): string =>
  doors.map((door, index) => `import * as door${index} from '${door}';\nvoid door${index};\n`).join('');

const settings = (compilerOptions: Readonly<Record<string, unknown>>, files: readonly string[]) => ({
  compilerOptions: { strict: true, target: 'esnext', skipLibCheck: false, noEmit: true, types: [], ...compilerOptions },
  files,
});

const check = async ({ sh }: Place, project = 'tsconfig.json'): Promise<void> =>
  void (await sh(`node node_modules/typescript/bin/tsc -p ${project}`));

const nodenext = { module: 'nodenext' };
const bundler = { module: 'esnext', moduleResolution: 'bundler' };

/** Writes a project of one folder, installs and checks it. */
function simple(name: string, { type = 'module', options, files, packages }: SimpleProject): DoorProject {
  return {
    name,
    run: async (place) => {
      place.write({
        'package.json': { name, private: true, type },
        'tsconfig.json': settings(options, Object.keys(files)),
        ...files,
      });
      await place.install(...packages);
      await check(place);
    },
  };
}

type SimpleProject = {
  readonly type?: 'module' | 'commonjs';
  readonly options: Readonly<Record<string, unknown>>;
  readonly files: Readonly<Record<string, string>>;
  readonly packages: readonly string[];
};

const allDoors = workspaces().flatMap(({ doors }) => Object.keys(doors));

const zodMonorepo: DoorProject = {
  name: 'types: a monorepo with zod 3',
  run: async (place) => {
    // Entry points for tests need vitest and fast-check.
    const files = {
      'agent.ts': agent,
      'doors.ts': importAll(allDoors.filter((door) => !/testing$|ai-sdk|openai-agents/.test(door))),
    };
    place.write({
      'package.json': { name: 'repo', private: true, type: 'module', workspaces: ['apps/*'] },
      'apps/one/package.json': { name: 'one', type: 'module', dependencies: { zod: '3.25.76' } },
      'apps/one/schema.ts': "import { z } from 'zod';\nexport const schema = z.object({ a: z.string() });\n",
      'tsconfig.json': settings({ ...nodenext, types: ['node'] }, [...Object.keys(files), 'apps/one/schema.ts']),
      ...files,
    });
    await place.install('-openai-agents', ...frameworks, 'zod@3.25.76', '@types/node@20.19.43', typescript);
    await check(place);
  },
};

const references: DoorProject = {
  name: 'types: project references',
  run: async (place) => {
    const shared = { composite: true, declaration: true, noEmit: false, outDir: 'dist' };
    place.write({
      'package.json': { name: 'references', private: true, type: 'module' },
      'agents/tsconfig.json': settings({ ...nodenext, ...shared }, ['agent.ts']),
      'agents/agent.ts': agent,
      'app/tsconfig.json': {
        ...settings({ ...nodenext, ...shared }, ['main.ts']),
        references: [{ path: '../agents' }],
      },
      'app/main.ts':
        "import { AgentJetJob } from 'agentjet';\nimport { solve } from '../agents/agent.js';\nexport const job = new AgentJetJob().setWorkflow(solve);\n",
    });
    await place.install(...frameworks, typescript);
    await place.sh('node node_modules/typescript/bin/tsc -b app');
  },
};

const aliases: DoorProject = {
  name: 'types: aliases next to the workflow',
  run: async (place) => {
    place.write({
      'package.json': { name: 'aliases', private: true, type: 'module' },
      'agents/tsconfig.json': settings({ ...bundler, paths: { '@/*': ['./lib/*'] } }, ['flow.ts']),
      'agents/lib/prompt.ts': "export const prompt: string = 'from the alias';\n",
      'agents/flow.ts': plain
        .replace('import', "import { prompt } from '@/prompt';\nimport")
        .replace('task.mainQuery', 'prompt'),
      'agents/agent.yaml': debugJob('flow.ts->solve'),
      'agents/train.jsonl': '{"task_id": "1", "main_query": "hi"}\n',
    });
    await place.install(typescript);
    await check(place, 'agents');
    for (const folder of ['.', 'agents', '..'])
      await place.sh(
        `node "${place.dir}/node_modules/@agentjet/cli/bin/ajet.js" --conf "${place.dir}/agents/agent.yaml"`,
        {
          in: folder,
        },
      );
  },
};

/** A job that runs one episode and trains nothing. */
export const debugJob = (workflow: string): string => `ajet:
  backbone: debug
  model: { path: nano }
  rollout: { user_workflow: "${workflow}", max_response_length_in_one_turn: 8 }
  task_reader: { type: jsonl_dataset_file, jsonl_dataset_file: { training: { file_path: train.jsonl } } }
  debug: { debug_first_n_tasks: 1 }
`;

const withoutNode = {
  'agent.ts': agent,
  'doors.ts': importAll(doorsOfAgents.map(({ door }) => door)),
};

export const typeProjects: readonly DoorProject[] = [
  zodMonorepo,
  simple('types: CommonJS with nodenext', {
    type: 'commonjs',
    options: nodenext,
    files: { 'agent.ts': agent, 'plain.ts': plain },
    packages: [...frameworks, typescript],
  }),
  simple('types: bundler resolution', {
    options: bundler,
    files: withoutNode,
    packages: [...frameworks, typescript, ...withoutUndici],
  }),
  simple('types: node resolution', {
    // zod's own declarations need esModuleInterop in this way of resolving.
    options: { module: 'esnext', moduleResolution: 'node', esModuleInterop: true },
    files: { 'plain.ts': plain },
    packages: [typescript],
  }),
  simple('types: TypeScript 5.9, no @types/node', {
    options: nodenext,
    files: withoutNode,
    packages: [...frameworks, typescript, ...withoutUndici],
  }),
  simple('types: TypeScript 7', {
    options: nodenext,
    files: withoutNode,
    packages: [...frameworks, 'typescript@7.0.2', ...withoutUndici],
  }),
  references,
  aliases,
];
