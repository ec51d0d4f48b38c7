import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { listCheckpoints, listRuns, onlyRun, readMetrics, readRows } from './support/read-run.js';
import { runAjet, startAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
let wholeFolder: string;
let whole: ReturnType<typeof readMetrics>;
const train = ['--conf', 'job.yaml'];
const longRun = { trainer_common: { save_freq: 2, total_training_steps: 7, val_before_train: true } };

/**
 * Takes two turns with pauses that are different each time, so the calls that are sampled together differ from run to
 * run. If there is a file `hold`, the fifth step waits until the test removes the file.
 */
const restless = {
  'agent.ts': `
import { existsSync } from 'node:fs';
const pause = (milliseconds = 12 * Math.random()) => new Promise((resolve) => setTimeout(resolve, milliseconds));
let numBegun = 0;
export async function sayLetters(task, tuner) {
  const isHeld = ++numBegun > 2 + 4 * 8;
  while (isHeld && existsSync('hold')) await pause(5);
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  await pause();
  const question = { role: 'user', content: task.mainQuery };
  const { message: first } = await model.generate({ messages: [question] });
  await pause();
  const { message: second } = await model.generate({ messages: [question, first, { role: 'user', content: 'And now?' }] });
  const letters = (first.content + second.content).match(/[a-z]/gi)?.length ?? 0;
  return { reward: letters / 16, isSuccess: letters > 5, logMetrics: { letters } };
}
`,
};

beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
  wholeFolder = createJobFolder(modelDir, restless, longRun);
  await runAjet(wholeFolder, train);
  whole = readMetrics(onlyRun(wholeFolder));
});

/** Copies the folder of a run that has ended and was never killed. */
function copyWhole(): string {
  const folder = createScratchFolder();
  cpSync(wholeFolder, folder, { recursive: true });
  return folder;
}

longIt(
  'kill -9 at any moment and --resume: the metrics of a run that was never killed, to the last digit',
  async () => {
    const folder = createJobFolder(modelDir, { ...restless, hold: '' }, longRun);
    const running = startAjet(folder, train);
    await running.waitFor(/step 3\/7/);
    running.child.kill('SIGKILL');
    expect((await running.finished).signal).toBe('SIGKILL');
    rmSync(path.join(folder, 'hold'));
    const run = onlyRun(folder);
    expect(listCheckpoints(run)).toContain('step-000002');

    for (const delayMs of [Math.random() * 400, Math.random() * 1500]) {
      const resumed = startAjet(folder, [...train, '--resume']);
      await resumed.waitFor(/^run /m);
      setTimeout(() => resumed.child.kill('SIGKILL'), delayMs);
      await resumed.finished;
    }
    const resumed = await runAjet(folder, [...train, '--resume', '--json']);
    expect(resumed.code).toBe(0);
    expect(listRuns(folder)).toEqual([run]);
    expect(whole).toHaveLength(7);
    expect(readMetrics(run)).toEqual(whole);
    expect(JSON.parse(resumed.stdout)).toMatchObject({
      policy_version: 7,
      run_dir: run,
      success_before: expect.any(Number),
    });
    expect(readRows(path.join(run, 'evaluations.jsonl')).map((row) => row['step'])).toEqual([0, 7]);
  },
);

it('Ctrl-C once: the step is finished, a checkpoint saved, exit 130; and it resumes from there', async () => {
  const folder = createJobFolder(modelDir, { ...restless, hold: '' }, longRun);
  const running = startAjet(folder, train);
  await running.waitFor(/step 3\/7/);
  running.child.kill('SIGINT');
  await running.waitFor(/Stopping/);
  rmSync(path.join(folder, 'hold'));
  expect((await running.finished).code).toBe(130);
  const run = onlyRun(folder);
  const steps = readMetrics(run).length;
  expect(steps).toBeLessThanOrEqual(5);
  expect(listCheckpoints(run).at(-1)).toBe(`step-00000${steps}`);
  expect((await runAjet(folder, [...train, '--resume'])).code).toBe(0);
  expect(readMetrics(run)).toEqual(whole);
});

const patient = `
import { existsSync } from 'node:fs';
export async function sayLetters(task, tuner) {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20));
  return { reward: message.content.length % 3 };
}
`;

it('Ctrl-C twice: exits at once, though an episode would never end', async () => {
  const folder = createJobFolder(
    modelDir,
    { 'agent.ts': patient },
    { trainer_common: { total_training_steps: 3, val_before_train: false } },
  );
  const running = startAjet(folder, train);
  await running.waitFor(/^run /m);
  running.child.kill('SIGINT');
  await running.waitFor(/Stopping/);
  running.child.kill('SIGINT');
  const { code, signal } = await running.finished;
  // The second signal ends the run at once, even if the backbone is still in native code.
  expect([130, 'SIGINT']).toContain(code ?? signal);
});

longIt('a full disk ends the run with the reason, and what was saved before can be resumed', async () => {
  const folder = createJobFolder(
    modelDir,
    { 'agent.ts': patient, go: '' },
    { trainer_common: { save_freq: 1, total_training_steps: 3, val_before_train: false } },
  );
  const first = await runAjet(folder, [...train, 'trainer_common.total_training_steps=1']);
  expect(first.code).toBe(0);
  const run = onlyRun(folder);
  const fullFile = path.join(run, 'episodes/step-000002.jsonl');
  symlinkSync('/dev/full', fullFile);
  // Fill the disk only after the run has begun, because a resume removes later episodes.
  unlinkSync(path.join(folder, 'go'));
  const running = startAjet(folder, [...train, '--resume']);
  await running.waitFor(/^run /m);
  if (!existsSync(fullFile)) symlinkSync('/dev/full', fullFile);
  writeFileSync(path.join(folder, 'go'), '');
  const { code, stderr } = await running.finished;
  expect(code).toBe(1);
  expect(stderr).toMatch(/error: Cannot write .*the disk is full\. Free some space, then continue with --resume/);
  expect(readMetrics(run)).toHaveLength(1);
  unlinkSync(fullFile);
  expect((await runAjet(folder, [...train, '--resume'])).code).toBe(0);
  expect(readMetrics(run)).toHaveLength(3);
});

it('refuses to resume a run made with another configuration, and says what differs', async () => {
  const folder = copyWhole();
  const before = readFileSync(path.join(onlyRun(folder), 'metrics.jsonl'), 'utf8');
  const { code, stderr } = await runAjet(folder, [
    ...train,
    '--resume',
    'rollout.temperature=0.5',
    'trainer_common.ppo_epochs=2',
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /--resume: the run .* was made with another configuration: rollout\.temperature was 1, now 0\.5; trainer_common\.ppo_epochs was 1, now 2\./,
  );
  expect(readFileSync(path.join(onlyRun(folder), 'metrics.jsonl'), 'utf8')).toBe(before);
});

longIt(
  'a flipped bit in the newest checkpoint: --resume continues from the one before and says so; --from reaches further back',
  async () => {
    const folder = copyWhole();
    const run = onlyRun(folder);
    const weights = path.join(run, 'checkpoints/step-000007/model.safetensors');
    const bytes = readFileSync(weights);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 4) ^ 1, bytes.length - 4);
    writeFileSync(weights, bytes);

    const resumed = await runAjet(folder, [...train, '--resume']);
    expect(resumed.stderr).toBe('');
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toMatch(/step-000007 is broken: model\.safetensors has changed since it was written/);
    expect(resumed.stdout).toMatch(/Resuming .*, after step 6\./);
    expect(readMetrics(run)).toEqual(whole);

    const further = await runAjet(folder, [...train, '--resume', '--from', 'step-4']);
    expect(further.code).toBe(0);
    expect(further.stdout).toMatch(/Checkpoints after step 4 are set aside: step-000006, step-000007/);
    expect(readMetrics(run)).toEqual(whole);
    expect(readdirSync(path.join(run, 'checkpoints'))).toContain('abandoned-step-000006');
    expect((await runAjet(folder, [...train, '--from', 'step-4'])).stderr).toMatch(
      /needs the option "resume". Set both/,
    );
  },
);

longIt('--resume takes another rate, more repeats and an edited reward, and records from which step on', async () => {
  const folder = createJobFolder(modelDir, restless, longRun);
  await runAjet(folder, [...train, 'trainer_common.total_training_steps=2']);
  const run = onlyRun(folder);
  const agent = path.join(folder, 'agent.ts');
  writeFileSync(agent, readFileSync(agent, 'utf8').replace('letters / 16', 'letters / 32'));
  const changed = ['trainer_common.total_training_steps=3', 'trainer_common.optim.lr=0.002', 'rollout.num_repeat=3'];
  const resumed = await runAjet(folder, [...train, '--resume', ...changed]);
  expect(resumed.stderr).toBe('');
  expect(resumed.stdout).toMatch(/From step 3 on: rollout\.num_repeat was 4, now 3/);
  expect(resumed.stdout).toMatch(
    /From step 3 on: code of .*agent\.ts->sayLetters was "[0-9a-f]{12}", now "[0-9a-f]{12}"/,
  );
  expect(readMetrics(run).map((row) => row['episodes'])).toEqual([8, 8, 6]);
  const changes = readRows(path.join(run, 'changes.jsonl'));
  expect(changes.map((row) => row['first_step'])).toEqual([3, 3, 3, 3]);
  expect(changes).toContainEqual(
    expect.objectContaining({ key: 'trainer_common.total_training_steps', before: 2, after: 3 }),
  );
  expect(readFileSync(path.join(run, 'config.yaml'), 'utf8')).toMatch(/num_repeat: 3/);
  const refused = await runAjet(folder, [
    ...train,
    '--resume',
    ...changed,
    'trainer_common.loss_mode=ppo',
    'data.train_batch_size=1',
  ]);
  expect(refused.stderr).toMatch(/train_batch_size was 2, now 1.*model\.path=<run>\/checkpoints/);
});
