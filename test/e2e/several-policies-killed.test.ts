import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { listRuns, onlyRun, readMetrics } from './support/read-run.js';
import { runAjet, startAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

/** The command with several policies: it is killed, stopped with Ctrl-C (nightly), and resumed. */

const team = {
  'agent.ts': `
export async function work(task, tuner) {
  const ask = async (agentName, content) => {
    const model = tuner.selectModel({ agentName }, (tuned) => tuned);
    const { message } = await model.generate({ messages: [{ role: 'user', content }] });
    return message.content;
  };
  const plan = await ask('planner', task.mainQuery);
  const answer = await ask('worker', task.mainQuery + ' ' + plan);
  return { rewards: { planner: plan.length % 5, worker: answer.length % 7 }, isSuccess: answer.length > 4 };
}
`,
};

const changes = {
  rollout: { user_workflow: 'agent.ts->work' },
  trainer_common: { save_freq: 2, total_training_steps: 5, val_before_train: true, max_empty_steps: null },
  swarm: { policies: { planner: { trainable_targets: ['planner'] }, worker: { trainable_targets: ['worker'] } } },
};

const train = ['--conf', 'job.yaml'];
const policies = ['planner', 'worker'];
const readAll = (run: string) => policies.map((name) => readMetrics(path.join(run, 'policies', name)));

let modelDir: string;
let whole: ReturnType<typeof readAll>;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
  const folder = createJobFolder(modelDir, team, changes);
  expect(await runAjet(folder, train)).toMatchObject({ code: 0 });
  whole = readAll(onlyRun(folder));
});

longIt('kill -9 and --resume: the metrics of a run that was never killed, to the last digit', async () => {
  const folder = createJobFolder(modelDir, team, changes);
  const running = startAjet(folder, train);
  await running.waitFor(/worker step 3\/5/);
  running.child.kill('SIGKILL');
  expect((await running.finished).signal).toBe('SIGKILL');
  const run = onlyRun(folder);
  const resumed = await runAjet(folder, [...train, '--resume', '--json']);
  expect(resumed).toMatchObject({ code: 0 });
  expect(listRuns(folder)).toEqual([run]);
  expect(whole.map((rows) => rows.length)).toEqual([5, 5]);
  expect(readAll(run)).toEqual(whole);
  const at = (name: string): string => path.join(run, 'policies', name, 'checkpoints', 'step-000005');
  expect(JSON.parse(resumed.stdout)).toMatchObject({
    run_dir: run,
    success_before: expect.any(Number),
    success_after: expect.any(Number),
    policies: Object.fromEntries(policies.map((name) => [name, { policy_version: 5, model_dir: at(name) }])),
  });
});

longIt('Ctrl-C: the running step is finished, all models are saved, exit 130; and it resumes from there', async () => {
  const folder = createJobFolder(modelDir, team, changes);
  const running = startAjet(folder, train);
  await running.waitFor(/planner step 2\/5/);
  running.child.kill('SIGINT');
  const { code, stdout } = await running.finished;
  expect(code).toBe(130);
  expect(stdout).toMatch(/stopped after [^]*model {2}planner: [^]*model {2}worker: /);
  expect(await runAjet(folder, [...train, '--resume'])).toMatchObject({ code: 0 });
  expect(readAll(onlyRun(folder))).toEqual(whole);
});

it.each([
  ['eval', /swarm\.policies names planner, worker, and this command evaluates one model\. A run evaluates all/],
  ['sft', /swarm\.policies names planner, worker, and this command trains one model\. Remove swarm\.policies/],
])('ajet %s refuses several policies, and says what to do', async (command, message) => {
  const folder = createJobFolder(modelDir, { ...team, 'said.jsonl': '{"messages":[]}\n' }, changes);
  const refused = await runAjet(folder, [command, ...train, 'sft.transcripts=said.jsonl']);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(message);
});
