import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { toJsonLines } from './support/job-files.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { onlyRun, readEpisodes, readMetrics } from './support/read-run.js';
import { runAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

/** Does what the task's name says. */
const agent = `
type Model = { generate(request: unknown): Promise<{ message: { content: string } }> };
let numHung = 0; // in the first step

export async function sayLetters(task: { taskId: string; mainQuery: string }, tuner: any) {
  const model: Model = tuner.selectModel({ agentName: 'speaker' }, (tuned: Model) => tuned);
  const content = task.taskId === 'long' ? 'many words '.repeat(400) : task.mainQuery;
  const { message } = await model.generate({ messages: [{ role: 'user', content }] });
  switch (task.taskId) {
    case 'throws':
      throw new RangeError('the board has no such field');
    case 'hangs':
      if (++numHung > 3) throw new Error('hung long enough');
      return new Promise(() => {});
    case 'nan':
      return { reward: Number.NaN };
    case 'silent':
      return {};
    case 'exits':
      process.exit(0);
    case 'strays':
      void Promise.reject(new Error('nobody awaited this'));
      await new Promise((resolve) => setTimeout(resolve, 200));
      return { reward: 1 };
    default:
      return { reward: (message.content.match(/[a-z]/gi) ?? []).length / 8 };
  }
}
`;

const names = ['fine', 'throws', 'hangs', 'nan', 'silent', 'long', 'strays', 'exits'];
const files = {
  'agent.ts': agent,
  'train.jsonl': toJsonLines(names.map((name) => ({ task_id: name, main_query: `Say ${name}` }))),
};
const changes = {
  data: { train_batch_size: 8, max_prompt_length: 128, max_response_length: 128 },
  rollout: {
    user_workflow: 'agent.ts->sayLetters',
    num_repeat: 3,
    max_model_len: 256,
    max_response_length_in_one_turn: 8,
    episode_timeout: 8,
  },
  task_reader: { jsonl_dataset_file: { training: { file_path: 'train.jsonl' } } },
  trainer_common: { total_training_steps: 2, val_before_train: false },
};

// Both tests mostly wait, so they can run at the same time.
it.concurrent('keeps failed episodes as data with their errors, and trains on the others', async () => {
  const folder = createJobFolder(modelDir, files, changes);
  const { code, stdout } = await runAjet(folder, ['--conf', 'job.yaml']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/21 of 24 episodes failed; the first, e1-/);
  const [first, second] = readMetrics(onlyRun(folder));
  expect(first).toMatchObject({ episodes: 24, failed_episodes: 21, groups: 8, groups_skipped: 7 });
  expect([first?.['policy_version'], second?.['policy_version']]).toEqual([1, 2]);

  const errors = new Map(
    readEpisodes(onlyRun(folder))
      .filter((row) => row['step'] === 1)
      .map((row) => [row['task_id'], row['error'] as { code: string; message: string; stack?: string } | undefined]),
  );
  expect(errors.get('fine')).toBeUndefined();
  expect(errors.get('throws')).toMatchObject({
    code: 'workflow_failed',
    message: expect.stringContaining('the board has no such field'),
  });
  expect(errors.get('throws')?.stack).toMatch(/agent\.ts:11:/);
  expect(errors.get('hangs')).toMatchObject({ code: 'timeout', message: expect.stringContaining('8 s') });
  expect(errors.get('nan')).toMatchObject({ code: 'bad_output', message: expect.stringContaining('reward NaN') });
  expect(errors.get('silent')).toMatchObject({
    code: 'no_judge',
    message: expect.stringContaining('there is no judge'),
  });
  expect(errors.get('long')).toMatchObject({
    code: 'context_overflow',
    message: expect.stringMatching(
      /The (prompt has|request has at least) \d+ tokens and the model's context holds 256/,
    ),
  });
  expect(errors.get('exits')).toMatchObject({ code: 'process_exit' });
  expect(errors.get('strays')).toMatchObject({ message: expect.stringContaining('nobody awaited this') });
});

it.concurrent('counts a failed episode with reward 0 if the policy says so', async () => {
  const oneTask = {
    'train.jsonl': toJsonLines([
      { task_id: 'throws', main_query: 'x' },
      { task_id: 'fine', main_query: 'y' },
    ]),
  };
  const folder = createJobFolder(
    modelDir,
    { ...files, ...oneTask },
    { ...changes, rollout: { ...changes.rollout, failed_episode_policy: 'zero_reward' } },
  );
  expect((await runAjet(folder, ['--conf', 'job.yaml'])).code).toBe(0);
  expect(readMetrics(onlyRun(folder))[0]).toMatchObject({ episodes: 6, failed_episodes: 3, groups_skipped: 1 });
});

it('a run in which nothing ever completed ends with an error, its episodes kept', async () => {
  const folder = createJobFolder(
    modelDir,
    { ...files, 'train.jsonl': toJsonLines([{ task_id: 'silent', main_query: 'x' }]) },
    changes,
  );
  const { code, stderr } = await runAjet(folder, ['--conf', 'job.yaml']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/error: None of the 6 episodes completed/);
  expect(readEpisodes(onlyRun(folder))).toHaveLength(6);
});

it('an error that a module loses outside of every episode ends the run, and nothing else is said to have', async () => {
  const losing = `
let isUnderWay = false;
setInterval(() => { if (isUnderWay) throw new Error('lost by a module'); }, 20);
export const sayLetters = () => { isUnderWay = true; return new Promise(() => {}); };
`;
  const folder = createJobFolder(
    modelDir,
    { 'agent.ts': losing },
    { ...changes, rollout: { ...changes.rollout, episode_timeout: 60 } },
  );
  const { code, stderr } = await runAjet(folder, [
    '--conf',
    'job.yaml',
    'task_reader.jsonl_dataset_file.training.file_path=train.jsonl',
  ]);
  expect(code).not.toBe(0);
  expect(stderr).toContain('Error: lost by a module');
  expect(stderr).not.toContain('process.exit');
});

it('so does an evaluation, after its line of JSON', async () => {
  const folder = createJobFolder(
    modelDir,
    { ...files, 'train.jsonl': toJsonLines([{ task_id: 'silent', main_query: 'x' }]) },
    changes,
  );
  const { code, stdout, stderr } = await runAjet(folder, [
    'eval',
    '--conf',
    'job.yaml',
    '--json',
    'task_reader.jsonl_dataset_file.validation.file_path=train.jsonl',
  ]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ success: 0, episodes: 1, failed_episodes: 1 });
  expect(stderr).toMatch(/error: None of the 1 episodes completed, so the result says nothing about the model/);
});
