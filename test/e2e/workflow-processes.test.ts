import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { onlyRun, readEpisodes, readMetrics, readRepeatableEpisodes } from './support/read-run.js';
import { runAjet, startAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

/**
 * Workflows in other processes learn the same as in this one. One that blocks or crashes costs only its own episodes.
 */

const train = ['--conf', 'job.yaml'];
let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

/** Two turns, one of them over HTTP, a turn reward, a judge that reads the transcripts, and a line on the terminal. */
const rich = {
  'agent.ts': `
export async function sayLetters(task, tuner) {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  const question = { role: 'user', content: task.mainQuery };
  const deltas = [];
  const { message } = await tuner.span('ask', () =>
    model.generate({ messages: [question] }, { onDelta: (delta) => deltas.push(delta.text ?? '') }),
  );
  if (deltas.join('') !== message.content) throw new Error('the stream says something else');
  tuner.reward(message.content.length / 100);
  console.log('said ' + message.content.length);
  const second = await model.generate({ messages: [question, message, { role: 'user', content: 'And now?' }] });
  const { baseUrl, apiKey } = tuner.asOpenAIEndpoint({ agentName: 'writer' });
  const response = await fetch(baseUrl + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [question] }),
  });
  const { choices } = await response.json();
  return { metadata: { said: message.content + second.message.content + choices[0].message.content } };
}
`,
  'judge.ts': `
export const judgeLetters = (task, output, { transcripts }) => {
  const letters = output.metadata.said.match(/[a-z]/gi)?.length ?? 0;
  return { reward: letters / 16, isSuccess: transcripts.map(({ messages }) => messages.length).join() === '4,2', parts: { letters } };
};
`,
};
const judged = { task_judge: { judge_type: 'customized_protocol', judge_protocol: 'judge.ts->judgeLetters' } };

it('learns the same as in one process, token by token, and evaluates the same', async () => {
  const [inside, outside] = [0, 2].map((processes) =>
    createJobFolder(modelDir, rich, { ...judged, rollout: { workflow_processes: processes } }),
  );
  const [, second] = await Promise.all([inside, outside].map((folder) => runAjet(folder ?? '', train)));
  expect(second).toMatchObject({ code: 0, stderr: expect.stringMatching(/^\[workflow [12]\] said \d+$/m) });
  const [whole, parts] = [onlyRun(inside ?? ''), onlyRun(outside ?? '')];
  expect(readMetrics(parts)).toEqual(readMetrics(whole));
  expect(readRepeatableEpisodes(parts)).toEqual(readRepeatableEpisodes(whole));
  expect(readEpisodes(parts)[0]).toMatchObject({ status: 'completed', turn_rewards: [expect.anything()] });
});

/** Maps an episode's id to what it does after its answer. */
const misbehaving = (misdeeds: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  'agent.ts': `
const misdeeds = { ${Object.entries(misdeeds)
    .map(([episodeId, misdeed]) => `'${episodeId}': async () => { ${misdeed} }`)
    .join(',\n')} };
export async function sayLetters(task, tuner) {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  await misdeeds[tuner.episodeId]?.();
  const letters = message.content.match(/[a-z]/gi)?.length ?? 0;
  return { reward: letters / 8 };
}
`,
});

const oneStep = {
  data: { train_batch_size: 6, max_prompt_length: 128, max_response_length: 128 },
  trainer_common: { total_training_steps: 1, val_before_train: false },
};
const limits = { workflow_processes: 2, num_repeat: 4, max_model_len: 256, max_response_length_in_one_turn: 8 };
const rollout = { user_workflow: 'agent.ts->sayLetters', ...limits };

/** Returns the failed episodes, and the reasons, of a job in which these misbehave. */
async function runMisbehaving(misdeeds: Readonly<Record<string, string>>, episodeTimeout: number): Promise<object> {
  const settings = { ...oneStep, rollout: { ...rollout, episode_timeout: episodeTimeout } };
  const folder = createJobFolder(modelDir, misbehaving(misdeeds), settings);
  expect(await runAjet(folder, train, { nodeArgs: ['--max-old-space-size=300'] })).toMatchObject({ code: 0 });
  const episodes = readEpisodes(onlyRun(folder));
  expect(episodes).toHaveLength(24);
  const failed = episodes.filter(({ status }) => status === 'failed');
  return Object.fromEntries(failed.map(({ episode_id: episodeId, error }) => [episodeId, error]));
}

describe.concurrent('a workflow', () => {
  it('that ends its process, fills its memory, exits or loses an error fails alone', async () => {
    const failed = await runMisbehaving(
      {
        'e1-train0-r1': 'process.reallyExit(7);',
        'e1-train1-r0': "process.kill(process.pid, 'SIGKILL');",
        'e1-train2-r3': 'const all = []; for (;;) all.push(new Array(1e7).fill(all.length + 0.5));',
        'e1-train3-r2': 'process.exit(0);',
        'e1-train4-r0': "setTimeout(() => { throw new Error('lost'); }); await new Promise(() => {});",
      },
      60,
    );
    const error = (code: string, message: RegExp): object => ({ code, message: expect.stringMatching(message) });
    expect(failed).toMatchObject({
      'e1-train0-r1': error('process_died', /exit code 7/),
      'e1-train1-r0': error('process_died', /signal SIGKILL/),
      'e1-train2-r3': error('process_died', /memory is full|SIGKILL/),
      'e1-train3-r2': error('process_exit', /process\.exit\(0\)/),
      'e1-train4-r0': error('workflow_failed', /lost/),
    });
    expect(Object.keys(failed)).toHaveLength(5);
  });

  it('that blocks is killed after its time and fails alone', async () => {
    const failed = await runMisbehaving({ 'e1-train2-r1': 'for (;;) {}' }, 3);
    const message = expect.stringMatching(/blocked its process for longer than 3 s/) as string;
    expect(failed).toMatchObject({ 'e1-train2-r1': { code: 'timeout', message } });
  });
});

it('says what is wrong with a module that cannot be loaded there, and with code that only this process has', async () => {
  const folder = createJobFolder(
    modelDir,
    { 'agent.ts': 'if (process.send) process.reallyExit(3);\nexport const sayLetters = () => ({ reward: 0 });\n' },
    { ...oneStep, rollout },
  );
  const { code, stderr } = await runAjet(folder, train);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /ended before it could run a workflow \(exit code 3\)\. Repair the module of rollout\.user_workflow/,
  );
});

const readPids = (folder: string): readonly number[] => [
  ...new Set(
    readFileSync(path.join(folder, 'begun.txt'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[2])),
  ),
];

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function areGone(pids: readonly number[]): Promise<void> {
  for (let round = 0; round < 300 && pids.some(isAlive); round++) await sleep(100);
  expect(pids.filter(isAlive)).toEqual([]);
}

/** The episodes of the first step wait for a file, and one of them blocks the main thread for ever. */
const waiting = {
  'agent.ts': `
import { appendFileSync, existsSync } from 'node:fs';
export async function sayLetters(task, tuner) {
  appendFileSync('begun.txt', tuner.episodeId + ' 1 ' + process.pid + '\\n');
  if (tuner.episodeId.endsWith('-r0') && existsSync('block')) for (;;) {}
  while (existsSync('hold')) await new Promise((resolve) => setTimeout(resolve, 20));
  return { reward: Math.random() };
}
`,
};

it.skipIf(process.platform === 'win32')(
  'leaves no process when the run is killed, not even a blocked one',
  async () => {
    const folder = createJobFolder(
      modelDir,
      { ...waiting, hold: '', block: '' },
      { ...oneStep, rollout: { ...rollout, episode_timeout: 300 } },
    );
    const running = startAjet(folder, train);
    await running.waitFor(/^run /m);
    while (!(await hasBegun(folder, 2))) await sleep(50);
    running.child.kill('SIGKILL');
    await running.finished;
    await areGone(readPids(folder));
  },
);

longIt('finishes the step after Ctrl-C, and leaves no process', async () => {
  const folder = createJobFolder(
    modelDir,
    { ...waiting, hold: '' },
    { ...oneStep, trainer_common: { total_training_steps: 3, val_before_train: false }, rollout },
  );
  const running = startAjet(folder, train);
  while (!(await hasBegun(folder, 2))) await sleep(50);
  for (const pid of readPids(folder)) process.kill(pid, 'SIGINT'); // as a terminal does
  running.child.kill('SIGINT');
  await running.waitFor(/Stopping/);
  rmSync(path.join(folder, 'hold'));
  expect((await running.finished).code).toBe(130);
  await areGone(readPids(folder));
});

/** Returns whether episodes run in that many processes. */
async function hasBegun(folder: string, processes: number): Promise<boolean> {
  await sleep(10);
  try {
    return readPids(folder).length >= processes;
  } catch {
    return false;
  }
}
