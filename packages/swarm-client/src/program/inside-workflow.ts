import type { Task, WorkflowOutput } from '@agentjet/core';
import type { Tuner } from '@agentjet/rollout';
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
    const endpoint = await session.connect(tuner.asOpenAIEndpoint({ agentName }));
    const { episodeId, attempt } = tuner;
    const written = describeTask(task, home);
    const { variables, files } = programHome({ episodeId, attempt, task, written, endpoint, home });
    const given = fillArguments(args, task, written);
    const { status, output, isOutOfTime } = await session.run({ command: [command, ...given], env: variables, files });
    return {
      metadata: { exit_code: status, answer: output.trim().slice(-8000), ...(isOutOfTime && { out_of_time: true }) },
    };
  };
}
