import path from 'node:path';
import { AgentJetJob, type Task, type Tuner, Workflow } from 'agentjet';
import { beforeAll, expect, it } from 'vitest';
import { createScratchFolder } from './support/job-folder.js';
import { readEpisodes, readMetrics, type Row } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

/**
 * The side that says more letters gets a positive reward, and the other side the negative one. In some tasks the wolf
 * also gets a bonus for its first word.
 */
class Shouting extends Workflow {
  async execute(task: Task, tuner: Tuner) {
    const say = async (agentName: string, targetTag: string): Promise<number> => {
      const model = tuner.selectModel({ agentName, targetTag }, (tuned) => tuned);
      const { message } = await model.generate({
        messages: [{ role: 'user', content: `${task.mainQuery} ${agentName}` }],
      });
      return message.content.match(/[a-z]/gi)?.length ?? 0;
    };
    const ann = await tuner.span('Ann shouts', () => say('Ann', 'wolf'));
    const bonus = task.metadata['bonus'];
    if (typeof bonus === 'number') tuner.reward(bonus, { agent: 'Ann' });
    const bob = await say('Bob', 'villager');
    return { rewards: { wolf: ann - bob, villager: bob - ann } };
  }
}

type SampleRow = {
  readonly target_tag: string;
  readonly loss_mask: readonly number[];
  readonly advantages: readonly number[];
};

/** Returns the advantage of the first trained token of this target in an episode. */
function advantageOf(episode: Row, target: string): number {
  const samples = episode['samples'] as readonly SampleRow[];
  const sample = samples.find(({ target_tag: tag }) => tag === target);
  return sample?.advantages[sample.loss_mask.indexOf(1)] ?? Number.NaN;
}

async function train(bonus: number | null) {
  const { runDir } = await new AgentJetJob({
    model: modelDir,
    experimentDir: createScratchFolder(),
    experimentName: 'sides',
    numRepeat: 4,
    batchSize: 2,
    maxPromptLength: 128,
    maxResponseLength: 128,
    maxModelLen: 256,
    maxResponseLengthInOneTurn: 8,
    config: { trainerCommon: { totalTrainingSteps: 2, valBeforeTrain: false } },
  })
    .setWorkflow(Shouting)
    .setData({
      training: Array.from({ length: 4 }, (_, at) => ({
        taskId: `t${at}`,
        mainQuery: `Shout ${at}`,
        metadata: { bonus },
      })),
    })
    .tune({ onEvent: () => undefined });
  if (runDir === null) throw new Error('nothing was written');
  return { metrics: readMetrics(runDir), episodes: readEpisodes(runDir) };
}

it('both sides of a game learn at once, from opposite rewards', async () => {
  const { metrics, episodes } = await train(null);
  const signs = episodes.map((episode) => [advantageOf(episode, 'wolf'), advantageOf(episode, 'villager')]);
  expect(signs).toHaveLength(16);
  for (const [wolf = Number.NaN, villager = Number.NaN] of signs) expect(wolf).toBeCloseTo(-villager, 5);
  expect(signs.some(([wolf]) => wolf !== 0)).toBe(true);
  for (const row of metrics) {
    expect(row['reward_mean']).toBe(0);
    expect(Number(row['reward/wolf'])).toBeCloseTo(-Number(row['reward/villager']), 9);
    expect(row).not.toHaveProperty('turn_rewards');
  }
  expect(metrics.at(-1)?.['policy_version']).toBe(2);
  expect(episodes[0]?.['spans']).toMatchObject([{ name: 'Ann shouts', has_failed: false }]);
});

it('a bonus that all repeats get changes nothing but what is reported', async () => {
  const plain = await train(null);
  const paid = await train(3);
  const withoutBonus = paid.metrics.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'turn_rewards')),
  );
  expect(withoutBonus).toEqual(plain.metrics);
  expect(paid.metrics.map((row) => row['turn_rewards'])).toEqual([3, 3]);
});
