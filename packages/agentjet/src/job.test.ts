import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentJetJob, ConfigError, Workflow, type JobOptions } from './index.js';

class Silent extends Workflow {
  execute() {
    return Promise.resolve({ reward: 0 });
  }
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ajet-job-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('AgentJetJob', () => {
  it('takes the options of the original, and everything else under config', () => {
    const { config } = new AgentJetJob({
      model: 'nano',
      algorithm: 'reinforce',
      numRepeat: 3,
      batchSize: 5,
      lr: 1e-5,
      maxModelLen: 4096,
      config: { trainerCommon: { saveFreq: 7, optim: { weightDecay: 0 } }, rollout: { numRepeat: 99 } },
    });
    expect(config.trainerCommon.algorithm.advEstimator).toBe('reinforce');
    expect(config.rollout.numRepeat).toBe(3);
    expect(config.data.trainBatchSize).toBe(5);
    expect(config.trainerCommon.optim).toMatchObject({ lr: 1e-5, weightDecay: 0, gradClip: 1 });
    expect(config.trainerCommon.saveFreq).toBe(7);
  });

  it('refuses options it does not have, and wrong values', () => {
    const unknown = { flux: 8 } as JobOptions;
    expect(() => new AgentJetJob(unknown)).toThrow(/AgentJetJob has no option "flux"/);
    expect(() => new AgentJetJob(null as unknown as JobOptions)).toThrow(
      /What AgentJetJob\(\) got is null, but must be an object/,
    );
    expect(() => new AgentJetJob({ config: 5 } as unknown as JobOptions)).toThrow(
      /The option config is 5, but must be an object/,
    );
    expect(() => new AgentJetJob().loadJobFromYaml(undefined as unknown as string)).toThrow(ConfigError);
    expect(() => new AgentJetJob({ numRepeat: 0 })).toThrow(
      /"rollout\.num_repeat" in the options given in code is 0, but must be at least 1/,
    );
  });

  it('writes a YAML file that gives the same job again', () => {
    const file = path.join(folder, 'deep/math.yaml');
    const job = new AgentJetJob({ model: 'nano', numRepeat: 3 })
      .setWorkflow('agents/math.ts->MathAgent')
      .setJudge('agents/judge.ts->Judge')
      .setData({ training: 'train.jsonl', validation: 'test.jsonl' });
    job.dumpJobAsYaml(file);
    expect(readFileSync(file, 'utf8')).toMatch(/^ajet:\n/);
    expect(new AgentJetJob().loadJobFromYaml(file).config).toEqual(job.config);
    expect(job.config.rollout.userWorkflow).toBe(`${path.resolve('agents/math.ts')}->MathAgent`);
    expect(job.config.taskReader.jsonlDatasetFile.validation.filePath).toBe(path.resolve('test.jsonl'));
  });

  it('says so if the YAML file cannot be written', () => {
    expect(() => new AgentJetJob().dumpJobAsYaml(folder)).toThrow(
      new RegExp(`Cannot write ${folder}: EISDIR.*Choose another file`),
    );
  });

  it('says in the YAML what only code can give', () => {
    const file = path.join(folder, 'code.yaml');
    new AgentJetJob()
      .setWorkflow(Silent)
      .setData({ training: [{ taskId: 'a', mainQuery: 'x' }] })
      .dumpJobAsYaml(file);
    expect(readFileSync(file, 'utf8')).toMatch(/^# Set in code and not in this file: setWorkflow\(\), setData\(\)\./);
  });

  it('keeps what code has set when a YAML file is loaded', async () => {
    const file = path.join(folder, 'loaded.yaml');
    writeFileSync(file, 'ajet:\n  rollout: { num_repeat: 2 }\n  model: { path: ./missing }\n');
    const job = new AgentJetJob()
      .setWorkflow(Silent)
      .setData({ training: [{ taskId: 'a', mainQuery: 'x' }] })
      .loadJobFromYaml(file);
    expect(job.config.rollout.numRepeat).toBe(2);
    await expect(job.tune({ onEvent: () => {} })).rejects.toMatchObject({ code: 'bad_model_files' });
  });

  it('names what is missing before anything runs', async () => {
    await expect(new AgentJetJob().tune()).rejects.toMatchObject({ code: 'no_workflow' });
    await expect(new AgentJetJob().setWorkflow(Silent).tune()).rejects.toMatchObject({ code: 'no_tasks' });
    await expect(new AgentJetJob().setWorkflow(Silent).setData({ training: [] }).tune()).rejects.toMatchObject({
      code: 'no_tasks',
    });
    const unnamed = new AgentJetJob().setWorkflow(Silent).setData({ training: [{ taskId: '', mainQuery: 'x' }] });
    await expect(unnamed.tune()).rejects.toMatchObject({ code: 'empty_task_id' });
    expect(() => new AgentJetJob().setWorkflow(42 as unknown as typeof Silent)).toThrow(ConfigError);
  });
});

it('finds that transcripts are missing before it looks for the model', async () => {
  const job = new AgentJetJob({ model: 'no/such-model', config: { sft: { transcripts: 'nowhere.jsonl' } } });
  await expect(job.sft()).rejects.toThrow(/There is nothing at .*nowhere\.jsonl/);
});
