import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentJetJob, ConfigError, type JobOptions } from './index.js';

/** The arguments that the documentation of the Python AgentJet names. */

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ajet-arguments-'));
  mkdirSync(path.join(folder, 'gsm8k'));
  for (const split of ['train', 'test', 'hard'])
    writeFileSync(path.join(folder, 'gsm8k', `${split}.jsonl`), '{"task_id": "a", "main_query": "1 + 1?"}\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const createJob = (options: Readonly<Record<string, unknown>>) => new AgentJetJob(options as JobOptions);

describe('AgentJetJob', () => {
  it.each([
    { nGpu: 8, algorithm: 'grpo' },
    { n_gpu: 8, algorithm: 'grpo' },
  ])('takes %j', (options) => {
    expect(createJob(options).config.trainerCommon).toMatchObject({
      nGpusPerNode: 8,
      algorithm: { advEstimator: 'grpo' },
    });
  });

  it('takes the other names of the original, in both spellings', () => {
    const { config } = createJob({
      project_name: 'p',
      experiment_name: 'e',
      num_repeat: 3,
      batch_size: 5,
      max_env_worker: 6,
      mini_batch_num: 2,
      ppo_epochs: 2,
      gpu_memory_utilization: 0.5,
      max_num_seqs: 7,
      use_kl_loss: true,
      use_kl_in_reward: true,
      backbone: 'torch',
      lora_rank: 8,
      loraAlpha: 4,
    });
    expect(config).toMatchObject({ projectName: 'p', experimentName: 'e', lora: { rank: 8, alpha: 4 } });
    expect(config.rollout).toMatchObject({ numRepeat: 3, maxEnvWorker: 6, gpuMemoryUtilization: 0.5, maxNumSeqs: 7 });
    expect(config.trainerCommon).toMatchObject({ miniBatchNum: 2, ppoEpochs: 2, useKlLoss: true });
    expect(config.trainerCommon.algorithm.useKlInReward).toBe(true);
  });

  it('takes what asks for nothing special, and answers the rest with what to use', () => {
    expect(() => createJob({ nnodes: 1, n_gpu_for_infer: null, swarm_mode: false, logging: 'console' })).not.toThrow();
    for (const [options, advice] of [
      [{ nnodes: 2 }, 'The option "nnodes" with the value 2 has no meaning here. Set nGpu for the GPUs of one machine'],
      [{ logging: 'wandb' }, 'Set config: { trainerCommon: { logger } }'],
      [{ numRepeats: 2 }, 'AgentJetJob has no option "numRepeats". Did you mean "numRepeat"?'],
    ] as const)
      expect(() => createJob(options)).toThrow(advice);
  });
});

describe('setData', () => {
  const filesOf = (data: Readonly<Record<string, unknown>>) => {
    const { taskReader } = new AgentJetJob().setData(data as never).config;
    const { training, validation } = taskReader.jsonlDatasetFile;
    return [training.filePath, validation.filePath];
  };

  it('takes a file by its documented name, in both spellings', () => {
    const file = path.join(folder, 'gsm8k/train.jsonl');
    expect(filesOf({ type: 'jsonl', datasetPath: file })).toEqual([file, null]);
    expect(filesOf({ type: 'jsonl', dataset_path: file })).toEqual([file, null]);
  });

  it('takes a folder with a file for each split', () => {
    const at = (split: string): string => path.join(folder, 'gsm8k', `${split}.jsonl`);
    expect(filesOf({ dataset_path: path.join(folder, 'gsm8k') })).toEqual([at('train'), at('test')]);
    expect(
      filesOf({ datasetPath: path.join(folder, 'gsm8k'), training_split: 'hard', validationSplit: 'none' }),
    ).toEqual([at('hard'), null]);
    expect(() => filesOf({ datasetPath: path.join(folder, 'gsm8k'), trainingSplit: 'easy' })).toThrow(
      'which has no easy.jsonl. Add it, or name another split in trainingSplit.',
    );
  });

  it('takes a data set of the hub by each of its names', () => {
    for (const type of ['hf', 'huggingface', 'huggingface_dat_repo']) {
      const given = { type, dataset_path: 'openai/gsm8k', dataset_name: 'main', fields: { main_query: 'question' } };
      const { taskReader } = new AgentJetJob().setData(given as never).config;
      expect(taskReader.type).toBe('huggingface_dat_repo');
      expect(taskReader.huggingfaceDatRepo).toMatchObject({
        datasetPath: 'openai/gsm8k',
        datasetName: 'main',
        trainingSplit: 'train',
        validationSplit: 'test',
      });
    }
  });

  it.each([
    [{ datasetpath: 'x' }, 'setData() has no argument "datasetpath". Did you mean "datasetPath"?'],
    [{ datasetPath: 5 }, 'setData() got 5 as datasetPath'],
  ])('%j is refused with the repair', (data, message) => {
    expect(() => filesOf(data)).toThrow(ConfigError);
    expect(() => filesOf(data)).toThrow(message);
  });
});
