import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder, createRunFolderAt } from '@agentjet/run-folder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { examineRun } from './examine-run.js';
import { chooseSteps, readRun } from './sources/read-run.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'doctor-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function write(name: string, content: string): Promise<string> {
  const file = path.join(dir, name);
  await writeFile(file, content);
  return file;
}

const steps = Array.from({ length: 40 }, (_, at) => at + 1);
const lines = (values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');

describe('metrics alone', () => {
  it("are read from TRL's trainer_state.json", async () => {
    const history = steps.map((step) => ({
      step,
      reward: 0.3 + step / 400,
      'completions/clipped_ratio': 0.3,
      ...(step % 20 === 0 && { eval_reward: 0.3 }),
    }));
    const file = await write('trainer_state.json', JSON.stringify({ global_step: 40, log_history: history }));
    const { source, steps: count, findings } = await examineRun(file);
    expect([source, count, findings[0]?.cause]).toEqual(['trainer_state.json', 40, 'cut_answers']);
  });

  it("are read from the log of verl's file logger", async () => {
    const log = steps.map((step) => ({
      step,
      data: {
        'critic/score/mean': 0.3,
        'actor/entropy': 0.4,
        'actor/pg_clipfrac': 0.5,
        'val-core/gsm8k/acc/mean@1': 0.3,
        'val-core/gsm8k/acc/std@4': 0.9,
      },
    }));
    const { source, findings, unseen } = await examineRun(await write('run.jsonl', lines(log)));
    expect([source, findings[0]?.cause]).toEqual(['verl', 'clipped_away']);
    expect(unseen).toContainEqual({ cause: 'cut_answers', needs: ['cut'] });
  });

  it('show tasks that are never solved by a reward that is a share, if nothing else shows it', async () => {
    const log = steps.map((step) => ({ step, reward: 0.02, frac_reward_zero_std: 0.9 }));
    expect((await examineRun(await write('log.jsonl', lines(log)))).findings[0]?.cause).toBe('never_solved');
    const wide = log.map((line) => ({ ...line, reward: -3 }));
    const { findings, unseen } = await examineRun(await write('wide.jsonl', lines(wide)));
    expect(findings).toEqual([]);
    expect(unseen).toContainEqual({ cause: 'never_solved', needs: ['any success'] });
  });

  it('are read from metrics.jsonl of a run', async () => {
    const log = steps.map((step) => ({ step, policy_version: step, reward_mean: 0.3, answers: 100, answers_cut: 10 }));
    const { source, findings } = await examineRun(await write('metrics.jsonl', lines(log)));
    expect([source, findings[0]?.cause]).toEqual(['metrics.jsonl', 'cut_answers']);
  });

  it('do not take the success of training for success on held-out tasks', async () => {
    const log = steps.map((step) => ({
      step,
      policy_version: step,
      reward_mean: 0.4,
      success_rate: 0.4,
      episodes: 64,
    }));
    const { findings } = await examineRun(await write('metrics.jsonl', lines(log)));
    expect(findings.map(({ summary }) => summary).join(' ')).not.toMatch(/held-out/i);
  });

  it('of another program are refused, with the names that they have', async () => {
    const file = await write('log.jsonl', lines([{ step: 1, accuracy: 0.5 }]));
    await expect(examineRun(file)).rejects.toThrow(/log\.jsonl is neither a run folder .* Its lines have accuracy\./);
    await expect(examineRun(await write('a.txt', 'hello'))).rejects.toThrow('It has no lines of JSON with a step.');
    await expect(examineRun(path.join(dir, 'gone'))).rejects.toThrow(
      /gone does not exist\. Name a run folder or a file of metrics/,
    );
  });
});

describe('a run folder', () => {
  it('is read with its episodes, which are the evidence', async () => {
    const run = await createRunFolder({
      experimentDir: dir,
      experimentName: 'e',
      configYaml: 'ajet:\n  rollout:\n    num_repeat: 2\n',
    });
    for (const step of steps.slice(0, 5)) {
      const episodes = Array.from({ length: 8 }, (_, at) => ({
        episode_id: `e${step}-${at}`,
        group_id: `g${Math.floor(at / 2)}`,
        task_id: `t${Math.floor(at / 2)}`,
        status: at < 4 ? 'failed' : 'completed',
        ...(at < 4
          ? { error: { code: 'workflow_failed', message: 'no such table' } }
          : { reward: at % 2, is_success: at % 2 === 1 }),
        samples: [],
      }));
      await run.recordStep({ step, groups: 4, episodes: 8, success_rate: 0.25, reward_mean: 0.25 }, episodes);
    }
    const { source, findings } = await examineRun(run.dir);
    expect(source).toBe('run folder');
    expect(findings[0]).toMatchObject({
      cause: 'failed_episodes',
      summary: '20 of 40 training episodes failed (50%), 20 of them with workflow_failed: no such table',
      episodes: ['e1-0', 'e1-1', 'e1-2'],
    });
  });

  it('is read by its index and the heads of its lines, without its tokens', async () => {
    const run = await createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });
    const samples = [
      { agent_name: 'a', target_tag: 'a', ids: [1, 2], loss_mask: [0, 1], logprobs: [0, -1], advantages: [0, 0] },
    ].map((sample) => ({ ...sample, policy_versions: [-1, 0] }));
    const episodes = Array.from({ length: 40 }, (_, at) => ({
      episode_id: `e1-${at}`,
      group_id: `g${Math.floor(at / 4)}`,
      task_id: `t${Math.floor(at / 4)}`,
      status: 'completed',
      reward: at === 0 ? 1 : 0,
      is_success: at === 0,
      generated_tokens: 1,
      calls: { answered: 1 },
      turns: [],
      samples,
    }));
    await run.recordStep({ step: 1, groups: 10, episodes: 40, success_rate: 0.025 }, episodes);
    const before = await examineRun(run.dir);
    expect(before.findings[0]?.cause).toBe('temperature_too_low'); // seen in the hashes of the tokens
    const file = path.join(run.dir, 'episodes/step-000001.jsonl');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('[1,2]', '[?,?]'));
    expect(await examineRun(run.dir)).toEqual(before);
  });

  it('without a finished step has no findings', async () => {
    const run = await createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });
    expect(await examineRun(run.dir)).toMatchObject({ steps: 0, findings: [] });
  });

  it('with very many steps is read in part, with its ends and its evaluations', () => {
    const all = Array.from({ length: 5000 }, (_, at) => at);
    const chosen = chooseSteps(all, [0, 777, 4321]);
    expect(chosen.length).toBeLessThanOrEqual(201);
    expect(chosen).toEqual(expect.arrayContaining([0, 1, 4, 4321, 4980, 4999]));
    expect(chooseSteps([1, 2, 3], [])).toEqual([1, 2, 3]);
  });

  it('of several policies is refused, with the folder of one of them', async () => {
    const run = await createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });
    await mkdir(path.join(run.dir, 'policies/planner'), { recursive: true });
    await expect(examineRun(run.dir)).rejects.toThrow(
      /several policies: planner\. Examine one of them: .*policies.planner\./,
    );
  });

  it('of one of several policies knows that the tokens of the others are missing', async () => {
    const contents = { experimentDir: dir, configYaml: 'ajet: {}\n' };
    const run = await createRunFolder({ ...contents, experimentName: 'e' });
    const policy = await createRunFolderAt(path.join(run.dir, 'policies/planner'), contents);
    expect((await readRun(policy.dir)).settings.isOneOfSeveral).toBe(true);
  });

  it('of another kind is refused', async () => {
    await expect(examineRun(dir)).rejects.toThrow(/is not a run folder/);
  });
});
