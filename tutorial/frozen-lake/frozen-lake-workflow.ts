import { asModel, ReActAgent } from '@agentjet/react';
import { type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { type Direction, directions, FrozenLake, type LakeMap } from './frozen-lake.js';

const systemPrompt =
  'You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right.';
const maxMoves = 10;

/**
 * One walk: the agent sees its surroundings and answers with a direction, until it reaches the goal, falls into a
 * hole, or runs out of moves.
 */
export class FrozenLakeWorkflow extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const lake = new FrozenLake(task.metadata['map'] as LakeMap);
    const agent = new ReActAgent({ name: 'walker', systemPrompt, model: asModel(tuner, { agentName: 'walker' }) });
    let numMoves = 0;
    for (; numMoves < maxMoves && lake.state === 'walking'; numMoves++) {
      const { content } = await agent.reply(
        { name: 'lake', role: 'user', content: lake.describe() },
        { signal: tuner.signal },
      );
      const direction = parseDirection(content);
      if (direction === undefined) break;
      lake.step(direction);
    }
    const isSuccess = lake.state === 'goal';
    return { reward: isSuccess ? 1 : 0, isSuccess, metadata: { end: lake.state }, logMetrics: { moves: numMoves } };
  }
}

/** An answer that is not a direction ends the walk without a reward. */
function parseDirection(answer: string): Direction | undefined {
  return directions.find((direction) => direction === answer.trim());
}
