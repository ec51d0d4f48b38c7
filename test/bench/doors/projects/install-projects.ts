import { expectPart, type DoorProject, type Place } from '../door-project.js';
import { packedOverrides } from '../packed-overrides.js';
import { debugJob } from './type-projects.js';

/** Installs the tarballs with each package manager, and runs one episode with what it installed. */

const workflow = `import { asModel } from '@agentjet/react';

export async function solve(task, tuner) {
  const model = asModel(tuner, { agentName: 'one' });
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  return { reward: message.content.length };
}
`;
const chosen = ['agentjet', '@agentjet/cli', '@agentjet/react', '@agentjet/onnx'] as const;

function writeProject({ write, packed }: Place, more: Readonly<Record<string, unknown>>): void {
  const overrides = packedOverrides(packed);
  write({
    'package.json': {
      name: 'installed',
      private: true,
      type: 'module',
      dependencies: Object.fromEntries(chosen.map((name) => [name, overrides[name]])),
      ...more,
    },
    'flow.js': workflow,
    'agent.yaml': debugJob('flow.js->solve'),
    'train.jsonl': '{"task_id": "1", "main_query": "hi"}\n',
  });
}

/** Runs an episode with the debug backbone, which samples from the embedded one. */
async function runEpisode({ sh }: Place): Promise<void> {
  expectPart(await sh('node node_modules/@agentjet/cli/bin/ajet.js --conf agent.yaml'), /^reward \d/m);
}

export const installProjects: readonly DoorProject[] = [
  {
    name: 'install: pnpm',
    run: async (place) => {
      const overrides = packedOverrides(place.packed);
      writeProject(place, { pnpm: { overrides } });
      const lines = Object.entries(overrides).map(([name, file]) => `  '${name}': '${file}'\n`);
      place.write({ 'pnpm-workspace.yaml': `packages: ['.']\noverrides:\n${lines.join('')}` });
      await place.sh('npx --yes pnpm@10.34.0 install --ignore-scripts');
      await runEpisode(place);
    },
  },
  {
    name: 'install: yarn',
    run: async (place) => {
      writeProject(place, { resolutions: packedOverrides(place.packed) });
      await place.sh('npx --yes yarn@1.22.22 install --ignore-scripts --non-interactive');
      await runEpisode(place);
    },
  },
  {
    name: 'install: bun',
    run: async (place) => {
      writeProject(place, { overrides: packedOverrides(place.packed) });
      await place.sh('npx --yes bun@1.4.5 install --ignore-scripts');
      await runEpisode(place);
    },
  },
];
