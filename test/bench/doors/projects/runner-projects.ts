import { type DoorProject, expectPart, type Place } from '../door-project.js';

/** Runs a workflow in the test runners of users, with a scripted model. */

const workflow = `import { asModel } from '@agentjet/react';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';

export async function solve(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = asModel(tuner, { agentName: 'one' });
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  return { reward: message.content === '5' ? 1 : 0 };
}
`;
const test = `import { openScriptedEpisode } from '@agentjet/adapter-kit';
import { solve } from './workflow';

test('the workflow pays a right answer', async () => {
  const { tuner, finish } = openScriptedEpisode({ replies: ['5'] });
  expect(await solve({ taskId: '1', mainQuery: '2+3?', initMessages: [], metadata: {} }, tuner)).toEqual({ reward: 1 });
  expect(finish().stats.calls).toBe(1);
});
`;

const writeTest = ({ write }: Place, manifest: Readonly<Record<string, unknown>>, head = ''): void =>
  write({
    'package.json': { name: 'tested', private: true, ...manifest },
    'workflow.ts': workflow,
    'workflow.test.ts': head + test,
  });

export const runnerProjects: readonly DoorProject[] = [
  {
    name: 'test: Vitest',
    run: async (place) => {
      writeTest(place, { type: 'module' }, "import { expect, test } from 'vitest';\n");
      await place.install('vitest@4.1.12');
      expectPart(await place.sh('npx vitest run'), '1 passed');
    },
  },
  {
    name: 'test: Jest',
    run: async (place) => {
      writeTest(place, {});
      place.write({
        'jest.config.cjs': `const tsconfig = { module: 'esnext', target: 'es2022', moduleResolution: 'bundler', isolatedModules: true };
module.exports = {
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\\\.ts$': ['ts-jest', { useESM: true, diagnostics: false, tsconfig }] },
};
`,
      });
      await place.install('jest@30.5.2', 'ts-jest@29', 'typescript@5.9.3');
      const options = { env: { NODE_OPTIONS: '--experimental-vm-modules' } };
      expectPart(await place.sh('npx jest', options), /Tests:\s+1 passed/);
    },
  },
];
