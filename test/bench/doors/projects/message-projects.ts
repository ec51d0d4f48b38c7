import { type DoorProject, expectPart, type Place } from '../door-project.js';
import { debugJob } from './type-projects.js';

/** Makes the mistakes of new users. The message must say what is wrong, and in which line. */

const commands = [
  '',
  '--help',
  'init --framework react',
  'probe a.yaml',
  'serve nano',
  'swarm run',
  'studio',
  'doctor x',
];

async function failureOf(place: Place, line: string): Promise<string> {
  return await place.sh(line).then(
    (output) => {
      throw new Error(`\`${line}\` did not fail:\n${output}`);
    },
    (error: unknown) => (error as Error).message,
  );
}

/** Runs one episode of a workflow whose fourth line makes a mistake. */
function mistake(name: string, line: string, expected: readonly (string | RegExp)[], isFailure: boolean): DoorProject {
  return {
    name: `message: ${name}`,
    run: async (place) => {
      place.write({
        'package.json': { name: 'mistaken', private: true, type: 'module' },
        'flow.ts': `import { asModel } from '@agentjet/react';
export async function solve(task: { mainQuery: string }, tuner: Parameters<typeof asModel>[0]) {
  const messages = [{ role: 'user', content: task.mainQuery } as const];
  ${line}
}
`,
        'agent.yaml': debugJob('flow.ts->solve'),
        'train.jsonl': '{"task_id": "1", "main_query": "hi"}\n',
      });
      await place.install();
      const run = 'npx ajet --conf agent.yaml';
      const output = isFailure ? await failureOf(place, run) : await place.sh(run);
      for (const part of expected) expectPart(output, part);
    },
  };
}

export const messageProjects: readonly DoorProject[] = [
  {
    name: 'message: Node 18',
    run: async (place) => {
      place.write({ 'package.json': { name: 'old', private: true } });
      await place.install();
      await place.sh('npm install --no-audit --no-fund --prefix old node@18');
      for (const command of commands) {
        const message = await failureOf(
          place,
          `old/node_modules/.bin/node node_modules/@agentjet/cli/bin/ajet.js ${command}`,
        );
        expectPart(message, 'needs Node 20.19 or newer; this is 18.');
        if (/^\s+at /m.test(message)) throw new Error(`it has a stack trace:\n${message}`);
      }
    },
  },
  mistake(
    'a forgotten await',
    "const answer = asModel(tuner, { agentName: 'one' }).generate({ messages }); return { reward: Number(answer === undefined) };",
    ['Is an await missing?', /flow\.ts:4/],
    false,
  ),
  mistake(
    'a workflow without a model call',
    'return { reward: Number(messages.length > 0 && tuner !== undefined) };',
    ['No episode asked a tuned model for anything', 'flow.ts'],
    false,
  ),
  mistake('an error while the workflow loads', '} throw new Error("no key"); {', ['no key', /flow\.ts:4/], true),
];
