import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { listCheckpoints, onlyRun, readEpisodes, readMetrics } from './support/read-run.js';
import { runAjet, startAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

/**
 * The speaker learns. The writer is a model of another server, whose quota is used up from call 5 to call `lastLost`.
 */
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

// Both tests mostly wait, so they can run at the same time.
it.concurrent('an exhausted quota pauses the run, which continues by itself and trains no outage', async () => {
  const folder = createJobFolder(modelDir, files(10), changes);
  const { code, stdout } = await runAjet(folder, ['--conf', 'job.yaml']);
  expect(stdout).toMatch(
    /Paused: several attempts in a row were lost to debug model of writer.*\n?.*exceeded your current quota/,
  );
  expect(stdout).toMatch(/The world is back: the run continues after/);
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

/**
 * Each episode writes its name when it begins. From the sixth call on, the judge is away as long as there is a file
 * `away`.
 */
const judgedFiles = {
  away: '',
  'agent.ts': `
import { appendFileSync } from 'node:fs';
export async function speak(task, tuner) {
  appendFileSync('begun.txt', tuner.episodeId + ',');
  const speaker = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  const { message } = await speaker.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  return { metadata: { length: message.content.length } };
}
`,
  'judge.ts': `
import { existsSync } from 'node:fs';
let calls = 0;
export const judge = (task, { metadata }) => {
  if (++calls > 5 && existsSync('away'))
    throw Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
  return { reward: metadata.length % 5, isSuccess: true };
};
`,
};

it.concurrent.each([
  ['this process', 0],
  ['others', 1],
])(
  'SIGTERM ends a run whose judge is away in %s, and --resume samples no finished episode again',
  async (_, processes) => {
    const folder = createJobFolder(modelDir, judgedFiles, {
      ...changes,
      rollout: { ...changes.rollout, workflow_processes: processes },
      task_judge: { judge_type: 'customized_protocol', judge_protocol: 'judge.ts->judge' },
      trainer_common: { total_training_steps: 2, val_before_train: false, save_freq: 0 },
    });
    const begun = () => readFileSync(path.join(folder, 'begun.txt'), 'utf8').split(',').slice(0, -1);
    const running = startAjet(folder, ['--conf', 'job.yaml']);
    await running.waitFor(/Paused: the judge cannot be reached/);
    running.child.kill('SIGTERM');
    const { code, stdout, stderr } = await running.finished;
    expect([code, stderr]).toEqual([143, '']);
    expect(stdout).toMatch(
      /Stopped in a pause, in the middle of a step\. --resume continues this step[\s\S]*stopped after/,
    );
    const before = begun();
    expect(before).toHaveLength(6);
    rmSync(path.join(folder, 'away'));
    const resumed = await runAjet(folder, ['--conf', 'job.yaml', '--resume']);
    expect(resumed.code).toBe(0);
    expect(existsSync(path.join(folder, 'away'))).toBe(false);
    const metrics = readMetrics(onlyRun(folder));
    expect(metrics).toHaveLength(2);
    for (const step of metrics) expect(step).toMatchObject({ failed_episodes: 0 });
    const twice = begun().filter((name, at, all) => all.indexOf(name) !== at);
    expect(twice).toEqual([before.at(-1)]); // the episode that had no reward
  },
);

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
