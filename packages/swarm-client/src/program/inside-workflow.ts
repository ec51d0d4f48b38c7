import { isJsonObject, type JsonObject, type Task, type WorkflowOutput } from '@agentjet/core';
import type { Tuner } from '@agentjet/rollout';
import type { Observation, ProgramResult } from '@agentjet/rollout/inputs';
import { programHome } from './program-home.js';
import type { ProgramWorkflowOptions } from './program-workflow.js';
import { describeTask, fillArguments } from './task-arguments.js';

/** A folder of the environment that every user may write, and that is emptied before the episode is scored. */
const home = '/logs/agent/home';

/**
 * Creates a workflow that runs a program inside of the environment of its task, such as a container. The program gets
 * its model and its task as it would on this machine, and none of the variables of this machine except `NO_PROXY`. The judge scores the
 * episode.
 */
export function createInsideWorkflow({
  command,
  args,
  agentName = 'agent',
}: Pick<ProgramWorkflowOptions, 'command' | 'args' | 'agentName'>): (
  task: Task,
  tuner: Tuner,
) => Promise<WorkflowOutput> {
  return async (task, tuner) => {
    const session = await tuner.openEnvironment(task);
    const { episodeId, attempt } = tuner;
    for (let present = task; ; ) {
      const endpoint = await session.connect(tuner.asOpenAIEndpoint({ agentName }));
      const written = describeTask(present, home);
      const { toolServers } = session;
      const episode = { episodeId, attempt, task: present, written, endpoint, home, toolServers };
      const { variables, files } = programHome(episode);
      const given = fillArguments(args, present, written);
      const result = await session.run({ command: [command, ...given], env: variables, files });
      const next = hasSteps(session.observation) ? await session.step('') : { isDone: true };
      if (next.isDone || !('observation' in next)) return { metadata: describeResult(result) };
      present = { ...task, mainQuery: next.observation.text };
    }
  };
}

/** A task of several steps says so in its first observation. The program runs once for each. */
const hasSteps = ({ data }: Observation): boolean => isJsonObject(data) && typeof data['steps'] === 'number';

const describeResult = ({ status, output, isOutOfTime }: ProgramResult): JsonObject => ({
  exit_code: status,
  answer: output.trim().slice(-8000),
  ...(isOutOfTime && { out_of_time: true }),
});
