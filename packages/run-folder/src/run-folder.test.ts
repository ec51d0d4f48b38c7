import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import type { Backbone, Sample } from '@agentjet/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sealCheckpoint } from './checkpoint-seal.js';
import type { TrainingState } from './checkpoints.js';
import { toSampleRecord } from './episode-record.js';
import { createRunFolder, findLatestRun, openRunFolder } from './open-run.js';
import type { RunFolder } from './run-folder.js';

let dir: string;
let run: RunFolder;
const clock = () => new Date(2026, 7, 9, 12, 30, 5);
const newRun = (experimentName = 'lake') =>
  createRunFolder({ experimentDir: dir, experimentName, configYaml: 'ajet:\n  seed: 1 # <b>\n', clock });
const stateOf = (step: number): TrainingState => ({
  step,
  policyVersion: step,
  groupsDrawn: step * 4,
  draws: step === 0 ? [] : [{ epoch: 0, ranges: [[0, step * 4]] }],
});
const sample: Sample = {
  episodeId: 'a',
  agentName: 'agent',
  targetTag: 'agent',
  ids: Int32Array.of(1, 2, 3),
  lossMask: Uint8Array.of(0, 1, 1),
  logprobs: Float32Array.of(0, -0.1, -1.25),
  policyVersions: Int32Array.of(-1, 0, 0),
  advantages: Float32Array.of(0, 0.5, -0.5),
};
const samples = [toSampleRecord(sample)];
const backbone: Pick<Backbone, 'save'> = { save: (folder) => writeFile(path.join(folder, 'weights'), 'all of them') };

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'run-folder-'));
  run = await newRun();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it("records the source of its model's weights", async () => {
  const model = path.join(dir, 'hub/models--acme--tiny/snapshots/abc123');
  const blob = path.join(dir, 'hub/models--acme--tiny/blobs', 'ab'.repeat(32));
  await mkdir(model, { recursive: true });
  await mkdir(path.dirname(blob));
  await writeFile(blob, 'weights');
  await symlink(path.relative(model, blob), path.join(model, 'model.safetensors'));
  const read = async (): Promise<unknown> =>
    (JSON.parse(await readFile(path.join(run.dir, 'model.json'), 'utf8')) as { readonly source?: unknown }).source;
  await run.recordModel(model);
  expect(await read()).toEqual({ from: 'hub', id: 'acme/tiny', commit: 'abc123', sha256: 'ab'.repeat(32) });
  await writeFile(path.join(model, 'model_source.json'), '{"from":"gguf","file":"tiny.gguf"}');
  await run.recordModel(model);
  expect(await read()).toEqual({ from: 'gguf', file: 'tiny.gguf' });
  expect(await run.findModelChanges(model)).toEqual([]);
  await run.recordModel(dir);
  expect(await read()).toBeUndefined();
});

describe('createRunFolder', () => {
  it('names the folder by experiment and time, and never takes one that exists', async () => {
    expect(path.relative(dir, run.dir)).toBe(path.join('lake', '2026-08-09T12-30-05'));
    expect(path.basename((await newRun()).dir)).toBe('2026-08-09T12-30-05_2');
    expect(await run.readConfig()).toBe('ajet:\n  seed: 1 # <b>\n');
  });

  it.runIf(existsSync('/proc/self'))('comes back from a file system that has no room for folders', async () => {
    const inProc = createRunFolder({ experimentDir: '/proc/runs', experimentName: 'x', configYaml: '' });
    await expect(inProc).rejects.toMatchObject({
      code: 'unwritable_run_folder',
      message: expect.stringMatching(/Cannot write \/proc\/runs\/x: .*Choose another experiment_dir/),
    });
  });

  it('says what is wrong and what to do if it cannot write', async () => {
    await writeFile(path.join(dir, 'file'), '');
    const inFile = createRunFolder({ experimentDir: path.join(dir, 'file'), experimentName: 'x', configYaml: '' });
    await expect(inFile).rejects.toMatchObject({
      code: 'unwritable_run_folder',
      message: expect.stringMatching(
        /Cannot write .*file.*a part of the path is a file.*Choose another experiment_dir/,
      ),
    });
  });
});

describe('openRunFolder, findLatestRun', () => {
  it('open what is a run folder, and find the newest', async () => {
    for (let count = 0; count < 10; count++) await newRun();
    expect(await findLatestRun(dir, 'lake')).toBe(`${run.dir}_11`);
    expect(await findLatestRun(dir, 'unknown')).toBeUndefined();
    await expect(openRunFolder(dir)).rejects.toThrow(
      /is not a run folder: it has no config.yaml\. Runs are the folders/,
    );
    await expect(openRunFolder(path.join(dir, 'lake'))).rejects.toThrow(`The newest run in it is ${run.dir}_11.`);
    expect((await openRunFolder(run.dir)).dir).toBe(run.dir);
  });
});

describe('a run folder', () => {
  it('keeps metrics, evaluations, episodes and a log', async () => {
    await run.recordStep({ step: 1, reward_mean: 0.25 }, [
      { episode_id: 'a', reward: 1, samples },
      { episode_id: 'b', reward: 0, samples: [] },
    ]);
    await run.recordStep({ step: 2, reward_mean: 0.5 }, [{ episode_id: 'a', reward: 0.5, samples }]);
    await run.recordEvaluation({ step: 2, success_rate: 0.75 });
    expect(await run.readMetrics()).toEqual([
      { step: 1, reward_mean: 0.25 },
      { step: 2, reward_mean: 0.5 },
    ]);
    expect(await run.readEvaluations()).toEqual([{ step: 2, success_rate: 0.75 }]);
    expect(await run.episodes.readStep(1)).toEqual([
      { episode_id: 'a', step: 1, phase: 'train', reward: 1, samples },
      { episode_id: 'b', step: 1, phase: 'train', reward: 0, samples: [] },
    ]);
    expect(await run.episodes.find('a')).toMatchObject({ step: 2, reward: 0.5 });
    expect(await run.episodes.find('b')).toMatchObject({ step: 1 });
    expect(await run.episodes.find('c')).toBeUndefined();
    await run.log('notice', { text: 'hello' });
    expect((await readFile(path.join(run.dir, 'log.jsonl'), 'utf8')).trim()).toBe(
      `{"time":"${clock().toISOString()}","event":"notice","text":"hello"}`,
    );
  });

  it('finds episodes by the beginning of their ids, among any other lines', async () => {
    const long = 'é'.repeat(3 << 20);
    await run.recordStep({ step: 1 }, [
      { episode_id: 'e1-"a"-r0', metadata: long, samples },
      { episode_id: 'e1-b-r0', samples: [] },
      { episode_id: 'e2-a-r0', samples: [] },
    ]);
    await run.recordStep({ step: 2 }, [{ episode_id: 'e1-b-r0', reward: 1, samples: [] }]);
    await appendFile(path.join(run.dir, 'episodes', 'step-000002.jsonl'), '{"episode_id":"e1-killed","step":2,"samp');
    expect(await run.episodes.findIds('e1-')).toEqual(['e1-"a"-r0', 'e1-b-r0']);
    expect(await run.episodes.findIds('x')).toEqual([]);
    expect(await run.episodes.find('e1-"a"-r0')).toMatchObject({ step: 1, metadata: long, samples });
    expect(await run.episodes.find('e1-b-r0')).toMatchObject({ step: 2, reward: 1 });
    expect(await run.episodes.find('e1-killed')).toBeUndefined();
  });

  it('draws a curve with axes, marks with intervals, and colours for light and dark', async () => {
    for (let step = 1; step <= 30; step++)
      await run.recordStep(
        {
          step,
          reward_mean: step / 30,
          success_rate: step / 40,
          loss: 1 / step,
          seconds_sampling: 1,
          seconds_training: 2,
        },
        [{ episode_id: `<e${step}>`, reward: 1, samples }],
      );
    await run.recordEvaluation({ step: 0, success_rate: 0.1, success_low: 0.02, success_high: 0.3 });
    const curve = await readFile(path.join(run.dir, 'reward.svg'), 'utf8');
    expect(curve).toMatch(/^<svg xmlns/);
    for (const text of ['reward, mean of 4 steps', '>0.2<', '>30<', '>step<', 'prefers-color-scheme:dark'])
      expect(curve).toContain(text);
    expect(curve).toContain('success in evaluation, step 0: 0.1, 95% 0.02 to 0.3');
    expect(curve.match(/<polyline/g)?.length).toBe(3); // evaluations are not joined
    expect(curve).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('draws the loss of a run without rewards, and its held-out loss', async () => {
    for (const step of [1, 2]) await run.recordStep({ step, loss: 4 / step });
    await run.recordEvaluation({ step: 2, held_out_loss: 2.5 });
    const curve = await readFile(path.join(run.dir, 'reward.svg'), 'utf8');
    expect(curve).toContain('held-out loss');
    expect(curve).toContain('nats per token');
    expect(curve).not.toContain('reward');
  });

  it('names the line that is damaged, and removes it on resume', async () => {
    await run.recordStep({ step: 1, reward_mean: 0 });
    await appendFile(path.join(run.dir, 'metrics.jsonl'), '{"step": 2\n');
    await expect(run.readMetrics()).rejects.toMatchObject({
      code: 'run_folder',
      message: expect.stringMatching(/metrics\.jsonl:2 is not JSON: "{\\"step\\": 2"\. Remove that line/),
    });
    const notices: string[] = [];
    const reopened = await openRunFolder(run.dir, { clock, onNotice: (message) => notices.push(message) });
    await reopened.rewind(stateOf(1));
    expect(await reopened.readMetrics()).toEqual([{ step: 1, reward_mean: 0 }]);
    expect(notices).toEqual([expect.stringMatching(/^11 bytes after the last record of .*metrics\.jsonl are removed/)]);
  });

  it('goes back to a checkpoint: later lines and files go, and so do torn lines', async () => {
    for (let step = 1; step <= 4; step++) {
      await run.recordStep({ step, reward_mean: 0 }, [{ episode_id: `e${step}`, samples }]);
      await run.recordEvaluation({ step, success_rate: 0 });
    }
    await run.save(backbone, stateOf(2));
    await appendFile(path.join(run.dir, 'metrics.jsonl'), '{"step":5,"rew');
    await appendFile(path.join(run.dir, 'log.jsonl'), '{"ti');
    await mkdir(path.join(run.dir, 'checkpoints', '.step-000004.writing-1'));
    const reopened = await openRunFolder(run.dir, { clock });
    expect((await reopened.readMetrics()).length).toBe(4);
    await reopened.rewind(stateOf(2));
    expect((await reopened.readMetrics()).map(({ step }) => step)).toEqual([1, 2]);
    expect((await reopened.readEvaluations()).map(({ step }) => step)).toEqual([1, 2]);
    expect(await reopened.episodes.steps()).toEqual([1, 2]);
    expect((await readdir(path.join(run.dir, 'checkpoints'))).sort()).toEqual(['latest', 'step-000002']);
    const events = (await readFile(path.join(run.dir, 'log.jsonl'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: string }).event);
    expect(events).toEqual(['checkpoint', 'resumed']);
    await reopened.recordStep({ step: 3, reward_mean: 1 });
    expect((await reopened.readMetrics()).map(({ step }) => step)).toEqual([1, 2, 3]);
  });

  it('cuts an evaluation that a kill or a full disk cut short, so that it is made again', async () => {
    await run.recordStep({ step: 1, reward_mean: 0 }, [{ episode_id: 't1', samples }]);
    await run.recordEvaluation({ step: 0, success_rate: 0 }, [{ episode_id: 'a0', samples: [] }]);
    await run.episodes.append({ step: 1, phase: 'evaluation' }, [{ episode_id: 'a1', samples: [] }]);
    await appendFile(path.join(run.dir, 'episodes', 'step-000001.jsonl'), '{"episode_id":"b1","st');
    await run.rewind(stateOf(1));
    expect((await run.episodes.readStep(0)).map(({ episode_id: id }) => id)).toEqual(['a0']);
    expect((await run.episodes.readStep(1)).map(({ episode_id: id }) => id)).toEqual(['t1']);
    await run.recordEvaluation({ step: 1, success_rate: 1 }, [{ episode_id: 'a1', samples: [] }]);
    expect(await run.episodes.findIds('a1')).toEqual(['a1']);
  });

  it('says of each episode whether it was trained or evaluated, and refuses lines of older versions by name', async () => {
    await run.recordStep({ step: 1 }, [{ episode_id: 'eval-1-named-like-one', samples: [] }]);
    await run.recordEvaluation({ step: 1 }, [{ episode_id: 'e7', samples: [] }]);
    expect((await run.episodes.readStep(1)).map(({ phase }) => phase)).toEqual(['train', 'evaluation']);
    const file = path.join(run.dir, 'episodes', 'step-000002.jsonl');
    await appendFile(file, '{"episode_id":"old","step":2,"samples":[]}\n');
    await expect(run.episodes.readStep(2)).rejects.toThrow(
      /step-000002.jsonl:1 was written in an older format.*commit e2a79bc1/,
    );
    await expect(run.episodes.find('old')).rejects.toMatchObject({ code: 'older_format' });
  });

  it('keeps whole records of a file whose torn line was appended to', async () => {
    await run.recordStep({ step: 1 }, [{ episode_id: 'a', samples }]);
    const file = path.join(run.dir, 'episodes', 'step-000001.jsonl');
    await appendFile(file, '{"episode_id":"b","st{"episode_id":"c","step":1,"samples":[]}\n');
    await run.recordStep({ step: 1 }, [{ episode_id: 'd', samples }]);
    const notices: string[] = [];
    const reopened = await openRunFolder(run.dir, { onNotice: (message) => notices.push(message) });
    await reopened.rewind(stateOf(1));
    expect(await reopened.episodes.findIds('')).toEqual(['a', 'd']);
    expect(notices).toEqual([expect.stringContaining('1 lines of')]);
  });

  it('continues without a curve that cannot be written, and reports it', async () => {
    const notices: string[] = [];
    const reopened = await openRunFolder(run.dir, { onNotice: (message) => notices.push(message) });
    await mkdir(path.join(run.dir, 'reward.svg'));
    await reopened.recordStep({ step: 2, reward_mean: 0 });
    expect(notices).toEqual([expect.stringContaining('reward.svg could not be written')]);
  });

  it('says that it was removed, instead of writing into a new folder without a configuration', async () => {
    await rm(run.dir, { recursive: true });
    const removed = { code: 'run_folder', message: expect.stringContaining('was removed or moved') };
    await expect(run.recordStep({ step: 1 })).rejects.toMatchObject(removed);
    await expect(run.save(backbone, stateOf(1))).rejects.toMatchObject(removed);
    expect(existsSync(run.dir)).toBe(false);
  });

  it('reports missing steps, and removes leftovers of killed writers', async () => {
    await run.recordStep({ step: 2, reward_mean: 0 });
    await writeFile(path.join(run.dir, '.reward.svg.writing-4194305'), '');
    const notices: string[] = [];
    const reopened = await openRunFolder(run.dir, { onNotice: (message) => notices.push(message) });
    await reopened.rewind(stateOf(3));
    expect(notices).toEqual([expect.stringContaining('has no line for 2 of 3 steps; the first is 1')]);
    expect(await readdir(run.dir)).not.toContain('.reward.svg.writing-4194305');
  });

  it('is in use if another machine has written a heartbeat, and free once that is 30 seconds old', async () => {
    const claim = (ageMs: number) =>
      writeFile(
        path.join(run.dir, 'writer.json'),
        JSON.stringify({ owner: 'x', host: 'another', pid: 1, boot: null, heartbeat: Date.now() - ageMs }),
      );
    await claim(10_000);
    const inUse = {
      code: 'run_in_use',
      message: expect.stringContaining('Process 1 on another, last heard of 10 s ago'),
    };
    await expect(run.rewind(stateOf(0))).rejects.toMatchObject(inUse);
    await expect(run.recordStep({ step: 1 })).rejects.toMatchObject({ code: 'run_in_use' });
    await claim(31_000);
    await run.rewind(stateOf(0));
    expect(JSON.parse(await readFile(path.join(run.dir, 'writer.json'), 'utf8'))).toMatchObject({
      pid: process.pid,
      host: hostname(),
    });
    await run.close();
    expect(existsSync(path.join(run.dir, 'writer.json'))).toBe(false);
  });

  it('refuses to be resumed while another process writes it, and forgets one that was killed', async () => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const exited = new Promise((resolve) => other.once('exit', resolve));
    const claim = { owner: 'other', pid: other.pid, host: hostname() };
    await writeFile(path.join(run.dir, 'writer.json'), JSON.stringify(claim));
    await expect(run.rewind(stateOf(0))).rejects.toMatchObject({
      code: 'run_in_use',
      message: expect.stringContaining(`Process ${other.pid} is writing this run`),
    });
    other.kill('SIGKILL');
    await exited;
    await run.rewind(stateOf(0));
  });

  it('waits for a heartbeat of a process with the same host name and pid in another container', async () => {
    const claim = (heartbeat: number): Promise<void> =>
      writeFile(
        path.join(run.dir, 'writer.json'),
        JSON.stringify({ owner: 'x', host: hostname(), pid: process.pid, boot: null, space: 'pid:[1]', heartbeat }),
      );
    await claim(Date.now());
    let beat = Promise.resolve();
    const beats = setInterval(() => {
      beat = beat.then(() => claim(Date.now()));
    }, 50);
    await expect(run.rewind(stateOf(0))).rejects.toMatchObject({
      code: 'run_in_use',
      message: expect.stringContaining(`in another container or on another machine named ${hostname()}`),
    });
    clearInterval(beats);
    await beat;
    await claim(Date.now() - 31_000);
    await run.rewind(stateOf(0));
  });

  it.skipIf(process.platform !== 'linux')('forgets a claim whose pid belongs to a later process', async () => {
    const claim = { owner: 'other', pid: process.ppid, host: hostname(), started: '1', heartbeat: Date.now() };
    await writeFile(path.join(run.dir, 'writer.json'), JSON.stringify(claim));
    await run.rewind(stateOf(0));
  });

  it.skipIf(!existsSync('/dev/full'))('says that the disk is full', async () => {
    await symlink('/dev/full', path.join(run.dir, 'metrics.jsonl'));
    await expect(run.recordStep({ step: 1 })).rejects.toMatchObject({
      code: 'run_folder',
      message: expect.stringMatching(
        /Cannot write .*metrics\.jsonl: the disk is full\. Free some space, then continue with --resume\./,
      ),
    });
  });
});

describe('checkpoints', () => {
  it('keep the newest, and point to the last', async () => {
    for (let step = 1; step <= 4; step++) await run.save(backbone, stateOf(step), { maxCheckpoints: 2 });
    expect((await readdir(run.checkpoints.dir)).sort()).toEqual(['latest', 'step-000003', 'step-000004']);
    expect(await run.checkpoints.latest()).toEqual({
      dir: path.join(run.checkpoints.dir, 'step-000004'),
      state: stateOf(4),
    });
  });

  it('leave the previous one intact when a write fails, and say why', async () => {
    await run.save(backbone, stateOf(1));
    const full: Pick<Backbone, 'save'> = {
      save: async (folder) => {
        await writeFile(path.join(folder, 'half.safetensors'), 'half');
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      },
    };
    await expect(run.save(full, stateOf(2))).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringMatching(
        /step-000002: the disk is full\. Free some space, then continue with --resume\. Earlier checkpoints are intact\./,
      ),
    });
    expect((await readdir(run.checkpoints.dir)).sort()).toEqual(['latest', 'step-000001']);
    expect(await run.checkpoints.latest()).toMatchObject({ state: stateOf(1) });
  });

  it('are passed over if their state cannot be read, for the one before', async () => {
    await run.save(backbone, stateOf(1));
    const { dir: saved } = await run.save(backbone, stateOf(2));
    await writeFile(path.join(saved, 'state.json'), '{"step":');
    const problems: string[] = [];
    expect(await run.checkpoints.latest((problem) => problems.push(problem))).toMatchObject({ state: stateOf(1) });
    expect(problems).toEqual([
      expect.stringMatching(/step-000002 is broken: its state.json is missing or has changed.*Continuing from the/),
    ]);
    await rm(path.join(run.checkpoints.dir, 'step-000001'), { recursive: true });
    await expect(run.checkpoints.latest()).rejects.toMatchObject({ code: 'checkpoint' });
    await expect(run.checkpoints.open('step-7')).rejects.toThrow('There is no checkpoint step-7');
  });

  it.each([
    ['a step that is not the folder', { step: 1, policyVersion: 2, groupsDrawn: 8 }, 'says step 1'],
    ['a negative step', { step: -1, policyVersion: 2, groupsDrawn: 8 }, '"step" of its state.json is -1'],
    ['half a step', { step: 1.5, policyVersion: 2, groupsDrawn: 8 }, '"step" of its state.json is 1.5'],
    [
      'draws in no order',
      { step: 2, policyVersion: 2, groupsDrawn: 8, draws: [{ epoch: 0, ranges: [[4, 2]] }] },
      'not a set of draws',
    ],
    ['an endless count', { step: 2, policyVersion: 2, groupsDrawn: 1e300 }, '"groupsDrawn" of its state.json'],
  ])('are refused if their seal holds %s', async (_, state, message) => {
    const { dir: saved } = await run.save(backbone, stateOf(2));
    await rm(path.join(saved, 'state.json'));
    await sealCheckpoint(saved, state);
    await expect(run.checkpoints.open('step-000002')).rejects.toThrow(message);
  });

  it('of older versions, without sums or without draws, are refused by name', async () => {
    const { dir: saved } = await run.save(backbone, stateOf(2));
    const refusal = {
      code: 'older_format',
      message: expect.stringMatching(/The checkpoint .*step-000002 was written in an older format.*commit e2a79bc1/),
    };
    await writeFile(path.join(saved, 'state.json'), JSON.stringify(stateOf(2)));
    await expect(run.checkpoints.open('step-000002')).rejects.toMatchObject(refusal);
    await rm(path.join(saved, 'state.json'));
    await sealCheckpoint(saved, { step: 2, policyVersion: 2, groupsDrawn: 8 });
    await expect(run.checkpoints.open('step-000002')).rejects.toMatchObject(refusal);
  });

  it('are refused if one bit of any of their files has changed', async () => {
    const { dir: saved } = await run.save({ save: (folder) => writeWeights(folder, [1, 2, 3]) }, stateOf(1));
    for (const name of ['weights.safetensors', 'trainer_state/moments.safetensors', 'state.json']) {
      const file = path.join(saved, name);
      const whole = await readFile(file);
      for (const at of [0, 9, whole.length - 3]) {
        const changed = Buffer.from(whole);
        changed[at] = (changed[at] ?? 0) ^ 1;
        await writeFile(file, changed);
        await expect(run.checkpoints.open('step-1')).rejects.toMatchObject({ code: 'checkpoint' });
      }
      await writeFile(file, whole);
    }
    expect(await run.checkpoints.open('step-1')).toEqual({ dir: saved, state: stateOf(1) });
  });

  it.each([Number.NaN, Infinity, -Infinity])('are not saved with %s in a weight or a moment', async (value) => {
    await run.save(backbone, stateOf(1));
    const diverged: Pick<Backbone, 'save'> = { save: (folder) => writeWeights(folder, [1, value, 3]) };
    await expect(run.save(diverged, stateOf(2))).rejects.toMatchObject({
      code: 'non_finite_weights',
      message: expect.stringContaining('b in trainer_state/moments.safetensors contains a number that is not finite'),
    });
    expect((await readdir(run.checkpoints.dir)).sort()).toEqual(['latest', 'step-000001']);
  });

  it('keep the one that evaluations liked best, however old it is', async () => {
    const best = await openRunFolder(run.dir, { clock, keepBest: 'success_rate' });
    for (const [index, successRate] of [0.2, 0.8, 0.5, 0.8, 0.7].entries()) {
      await best.recordEvaluation({ step: index + 1, success_rate: successRate });
      await best.save(backbone, stateOf(index + 1), { maxCheckpoints: 2 });
    }
    expect((await readdir(run.checkpoints.dir)).sort()).toEqual([
      'best',
      'latest',
      'step-000002',
      'step-000004',
      'step-000005',
    ]);
    expect(await readFile(path.join(run.checkpoints.dir, 'best'), 'utf8')).toBe('step-000002\n');
    const wrong = await openRunFolder(run.dir, { clock, keepBest: 'sucess_rate' });
    await expect(wrong.recordEvaluation({ step: 6, success_rate: 1 })).rejects.toThrow(
      /keep_best is "sucess_rate", but evaluations have step, success_rate/,
    );
  });

  it('after the one that a run goes back to are set aside', async () => {
    for (let step = 1; step <= 3; step++) await run.save(backbone, stateOf(step));
    const notices: string[] = [];
    const reopened = await openRunFolder(run.dir, { onNotice: (message) => notices.push(message) });
    await reopened.rewind(stateOf(1));
    expect((await readdir(run.checkpoints.dir)).sort()).toEqual([
      'abandoned-step-000002',
      'abandoned-step-000003',
      'latest',
      'step-000001',
    ]);
    expect(notices[0]).toContain('set aside: step-000002, step-000003');
    expect(await reopened.checkpoints.latest()).toMatchObject({ state: stateOf(1) });
  });
});

/** Makes a model folder with valid weights, and moments with `values` in tensor "b". */
async function writeWeights(folder: string, values: readonly number[]): Promise<void> {
  await mkdir(path.join(folder, 'trainer_state'));
  await writeFile(path.join(folder, 'weights.safetensors'), toSafetensors({ a: [0.5, -0.5] }));
  await writeFile(path.join(folder, 'trainer_state/moments.safetensors'), toSafetensors({ a: [0], b: values }));
}

function toSafetensors(tensors: Readonly<Record<string, readonly number[]>>): Buffer {
  let at = 0;
  const header: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(tensors))
    header[name] = { dtype: 'F32', shape: [values.length], data_offsets: [at, (at += 4 * values.length)] };
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.from(Float32Array.from(Object.values(tensors).flat()).buffer)]);
}
