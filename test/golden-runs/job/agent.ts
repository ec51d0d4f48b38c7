import type { Task, Tuner, WorkflowOutput } from 'agentjet';

/** The faults of the episodes of a task. Each list has the numbers of the episodes with this fault in their group. */
type Mishaps = {
  /** Episodes that throw after their first answer. */
  readonly fails?: readonly number[];
  /** Episodes whose first attempt is lost to an outage. */
  readonly lost?: readonly number[];
  /** Whether all attempts of the first group are lost. The next group of the same task succeeds. */
  readonly isGroupLost?: boolean;
  /** All episodes get this reward. */
  readonly reward?: number;
};

const placeOf = (episodeId: string): number => Number(/-r(\d+)/.exec(episodeId)?.[1]);

function outage(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
}

let numAnswered = 0;

/** Kills the process while it samples, if GOLDEN_DIE_AT is `sampling n` and n first answers have been given. */
function dieIfAsked(): void {
  if (process.env['GOLDEN_DIE_AT'] === `sampling ${++numAnswered}`) process.kill(process.pid, 'SIGKILL');
}

/** Makes two calls. The reward is the share of letters in the answers. */
export async function spell(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const { fails = [], lost = [], isGroupLost = false, reward } = (task.metadata['mishaps'] ?? {}) as Mishaps;
  const place = placeOf(tuner.episodeId);
  const model = tuner.selectModel({ agentName: 'speller' }, (tuned) => tuned);
  const question = { role: 'user', content: task.mainQuery } as const;
  const { message: first } = await model.generate({ messages: [question] });
  dieIfAsked();
  if (fails.includes(place)) throw new Error(`Place ${place} of ${task.taskId} fails.`);
  if (lost.includes(place) && tuner.attempt === 1) throw outage();
  if (isGroupLost && !tuner.episodeId.includes('try2-')) throw outage();
  const { message: second } = await model.generate({
    messages: [question, first, { role: 'user', content: 'And now?' }],
  });
  const letters = (first.content + second.content).match(/[a-z]/gi)?.length ?? 0;
  return { reward: reward ?? letters / 16, isSuccess: letters > 4, logMetrics: { letters } };
}
