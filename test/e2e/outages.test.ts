import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { listCheckpoints, onlyRun, readEpisodes, readMetrics } from './support/read-run.js';
import { runAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

/** The speaker learns; the writer is somebody else's model, whose quota is used up for calls 5 to 12 (or from 5 on, if it stays away). */
const files = (lastLost: number) => ({
  'agent.ts': `
let calls = 0;
const writer = {
  name: 'writer',
  generate: async () => {
    calls++;
    if (calls >= 5 && calls <= ${lastLost})
      throw Object.assign(new Error('429 You exceeded your current quota'), { status: 429, code: 'insufficient_quota' });
    return { id: 'x', model: 'writer', message: { role: 'assistant', content: 'a' }, finishReason: 'stop' };
  },
};
export async function speak(task, tuner) {
  const speaker = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned, ['generate']);
  const helper = tuner.selectModel({ agentName: 'writer', debugModel: writer }, (tuned) => tuned, ['generate']);
  const { message } = await speaker.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  await helper.generate({ messages: [{ role: 'user', content: message.content }] });
  return { reward: message.content.length % 5 };
}
`,
});

const changes = {
  trainable_targets: ['speaker'],
  rollout: { user_workflow: 'agent.ts->speak', max_env_worker: 1, failed_episode_policy: 'zero_reward' },
  trainer_common: { total_training_steps: 2, val_before_train: false, save_freq: 1 },
};

// Both wait more than they work.
it.concurrent('an exhausted quota pauses the run, which goes on by itself and trains no outage', async () => {
  const folder = createJobFolder(modelDir, files(10), changes);
  const { code, stdout } = await runAjet(folder, ['--conf', 'job.yaml']);
  expect(stdout).toMatch(
    /Paused: several attempts in a row were lost to debug model of writer.*\n?.*exceeded your current quota/,
  );
  expect(stdout).toMatch(/The world is back: the run goes on after/);
  expect(code).toBe(0);
  const metrics = readMetrics(onlyRun(folder));
  expect(metrics).toHaveLength(2);
  expect(metrics[0]).toMatchObject({ failed_episodes: 0, outages: 6 });
  const lost = readEpisodes(onlyRun(folder)).filter((episode) => episode['status'] === 'failed');
  expect(lost).toHaveLength(6);
  for (const episode of lost)
    expect(episode).toMatchObject({ samples: [], error: { outage: { source: 'debug_model' } } });
});

it.concurrent('an outage longer than max_outage ends the run with a checkpoint, a reason and a repair', async () => {
  const folder = createJobFolder(modelDir, files(1e9), changes);
  const { code, stderr } = await runAjet(folder, [
    '--conf',
    'job.yaml',
    'rollout.max_outage=2',
    'data.train_batch_size=1',
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/longer than rollout\.max_outage allows.*quota[\s\S]*Check the quota, the key.*--resume/);
  expect(listCheckpoints(onlyRun(folder))).toEqual(['step-000001']);
});

it('steps in a row that train nothing end the run with a checkpoint', async () => {
  const equal = {
    'agent.ts': `
export async function speak(task, tuner) {
  const speaker = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  await speaker.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  return { reward: 1 };
}
`,
  };
  const folder = createJobFolder(modelDir, equal, {
    ...changes,
    trainer_common: { total_training_steps: 6, val_before_train: false, save_freq: 0, max_empty_steps: 2 },
  });
  const { code, stderr } = await runAjet(folder, ['--conf', 'job.yaml']);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /2 steps in a row, up to step 2, trained nothing: the episodes of each task all got the same reward/,
  );
  expect(readMetrics(onlyRun(folder))).toHaveLength(2);
  expect(listCheckpoints(onlyRun(folder))).toEqual(['step-000002']);
});
