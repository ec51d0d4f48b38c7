import { asModel, ReActAgent } from '@agentjet/react';
import type { OpenSession, Task, Tuner, WorkflowOutput } from 'agentjet';

const systemPrompt =
  'You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right.';
const maxMoves = 10;

/**
 * One walk in the world that the configuration names. The world gives the reward: task_judge.judge_type is
 * environment.
 */
export async function walk(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const session = await tuner.openEnvironment(task);
  const agent = new ReActAgent({ name: 'walker', systemPrompt, model: asModel(tuner, { agentName: 'walker' }) });
  let { text } = session.observation;
  for (let move = 0; move < maxMoves; move++) {
    const { content } = await agent.reply({ name: 'lake', role: 'user', content: text }, { signal: tuner.signal });
    const next = await step(session, content);
    if (next.isDone) break;
    ({ text } = next);
  }
  return {};
}

/** A world with tools has no steps, so the agent's answer becomes a call of the tool `walk`. */
async function step(session: OpenSession, words: string): Promise<{ readonly text: string; readonly isDone: boolean }> {
  if (session.tools.some(({ name }) => name === 'walk')) {
    const { text, data } = await session.call('walk', { direction: words });
    return { text, isDone: (data as { readonly isDone?: boolean } | undefined)?.isDone === true };
  }
  const { observation, isDone } = await session.step(words);
  return { text: observation.text, isDone };
}
