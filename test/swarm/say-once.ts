import type { Task, Tuner } from 'agentjet';

/** A workflow with one call of the model, which earns 1. */
export async function sayOnce(task: Task, tuner: Tuner): Promise<{ readonly reward: number }> {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  return { reward: 1 };
}
