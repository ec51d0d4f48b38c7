import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetJob, ConfigError, type JobEvent } from 'agentjet';
import { beforeAll, describe, expect, it } from 'vitest';
import { createJobYaml } from './support/job-files.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { onlyRun, readMetrics } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

const python =
  process.env['AJET_TORCH_PYTHON'] ?? path.resolve(import.meta.dirname, '../../trainer/torch/.venv/bin/python');
let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

type TrainerKeys = Readonly<Record<string, unknown>>;

/** Trains with options of the YAML file, and returns what metrics.jsonl says about them. */
async function trainWith(trainer: TrainerKeys, sections: TrainerKeys = {}) {
  const folder = createJobFolder(modelDir);
  const yaml = createJobYaml(modelDir, {
    experiment_dir: path.join(folder, 'saved_experiments'),
    trainer_common: { total_training_steps: 3, val_before_train: false, save_freq: 0, ...trainer },
    ...sections,
  });
  writeFileSync(path.join(folder, 'job.yaml'), yaml);
  const events: JobEvent[] = [];
  const job = new AgentJetJob().loadJobFromYaml(path.join(folder, 'job.yaml'));
  await job.tune({ onEvent: (event) => events.push(event) });
  return { metrics: readMetrics(onlyRun(folder)) as Record<string, number>[], events };
}

describe('options from the YAML with the embedded backbone', () => {
  it('KL, entropy, clip range, dual clip and aggregation over a constant length', async () => {
    const { metrics } = await trainWith({
      use_kl_loss: true,
      kl_loss_coef: 0.1,
      kl_loss_type: 'k2',
      entropy_coeff: 0.01,
      clip_ratio_low: 0.1,
      clip_ratio_high: 0.28,
      clip_ratio_c: 2,
      ppo_epochs: 2,
      loss_agg_mode: 'seq-mean-token-sum-norm',
      loss_scale_factor: 16,
      optim: { lr: 0.01, lr_scheduler_type: 'warmup_stable_decay', lr_wsd_decay_steps: 2, min_lr_ratio: 0.5 },
    });
    expect(metrics.at(-1)?.['policy_version']).toBe(6);
    expect(metrics.at(-1)?.['kl']).toBeGreaterThan(0);
    expect(metrics.map((row) => row['learning_rate'])).toEqual([0.01, 0.01, 0.0075]);
    expect(metrics.every((row) => row['staleness_max'] === 0)).toBe(true);
  });

  it('GSPO with masked importance weights, KL and entropy: losses that it computes in two passes', async () => {
    const { metrics } = await trainWith({
      loss_mode: 'gspo',
      rollout_is_threshold: 5,
      rollout_is_threshold_lower: 0.5,
      use_kl_loss: true,
      kl_loss_coef: 0.1,
      entropy_coeff: 0.01,
      ppo_epochs: 2,
      optim: { lr: 0.01 },
    });
    expect(metrics.at(-1)?.['policy_version']).toBe(6);
    expect(metrics.at(-1)?.['kl']).toBeGreaterThan(0);
    expect(metrics.at(-1)?.['entropy']).toBeGreaterThan(0);
    expect(metrics.map((row) => row['masked_fraction'])).toEqual([0, 0, 0]);
  });

  it('KL and long answers in the reward, and cut answers left out', async () => {
    const { metrics } = await trainWith({
      algorithm: { use_kl_in_reward: true, kl_coef: 0.1, kl_penalty: 'low_var_kl' },
      overlong_buffer: { len: 4 },
      optim: { lr: 0.01 },
    });
    const [first, ...later] = metrics;
    expect(first?.['reference_kl']).toBeCloseTo(0, 5); // the policy is still the initial model
    expect(later.some((row) => Math.abs(row['reference_kl'] ?? 0) > 1e-4)).toBe(true);
    for (const row of metrics) expect(row['reward_penalty']).toBeGreaterThan(0);
    // The tiny model never stops by itself, so every answer is cut.
    const masked = await trainWith({ total_training_steps: 1, mask_truncated_completions: true });
    expect(masked.metrics).toMatchObject([{ masked_episodes: masked.metrics[0]?.['episodes'], trained_tokens: 0 }]);
  });

  it('sampling ahead with whitened advantages: episodes carry their versions and are at most as old as allowed', async () => {
    const { metrics, events } = await trainWith({
      max_staleness: 1,
      total_training_steps: 6,
      algorithm: { adv_estimator: 'reinforce', reinforce_baseline: 'none', whiten_advantages: true },
    });
    expect(metrics.map((row) => row['step'])).toEqual([1, 2, 3, 4, 5, 6]);
    const staleness = metrics.map((row) => row['staleness_max'] ?? Number.NaN);
    expect(Math.max(...staleness)).toBe(1);
    expect(metrics.every((row) => row['stale_episodes'] === 0)).toBe(true);
    const order = events.flatMap((event) =>
      event.type === 'phase_started' || event.type === 'phase_finished'
        ? [`${event.type} ${event.phase} ${event.step}`]
        : [],
    );
    expect(order.indexOf('phase_started sample 2')).toBeLessThan(order.indexOf('phase_finished train 1'));
    expect(order.filter((line) => line === 'phase_started sample 7')).toEqual([]);
  });

  it.each([
    [
      'two limits of one weight',
      { tis_cap: 2, rollout_is_threshold: 5 },
      /"trainer_common\.tis_cap" 2 .*job\.yaml.* and .*rollout_is_threshold" 5 .* both limit the importance weight/,
    ],
    [
      'a lower limit alone',
      { rollout_is_threshold_lower: 0.5 },
      /rollout_is_threshold_lower" 0.5 .*has no effect without "trainer_common.rollout_is_threshold"/,
    ],
    [
      'a decay that the schedule does not have',
      { optim: { lr_wsd_decay_steps: 2 } },
      /lr_wsd_decay_steps" 2 .*has no effect with "trainer_common.optim.lr_scheduler_type" constant/,
    ],
    [
      'two lengths of the warm-up',
      { optim: { lr_warmup_steps: 1, lr_warmup_steps_ratio: 0.1 } },
      /both set the warm-up/,
    ],
    ['a least rate of a constant one', { optim: { min_lr_ratio: 0.1 } }, /min_lr_ratio" 0.1 .*whose rate never falls/],
    [
      'a staleness that allows nothing',
      { max_staleness: 1, mini_batch_num: 2 },
      /max_staleness" 1 .*is too small to sample ahead.*= 2 versions/,
    ],
  ])('%s is refused at start', async (_, trainer, message) => {
    await expect(trainWith(trainer)).rejects.toSatisfy(
      (error) => error instanceof ConfigError && message.test(error.message),
    );
  });
});

describe.skipIf(!existsSync(python))('options from the YAML with the torch backbone', () => {
  it('GSPO, truncated importance weights with their mismatch, KL, constant length, LoRA, sampling ahead', async () => {
    const { metrics } = await trainWith(
      {
        loss_mode: 'gspo',
        clip_ratio_low: 0.0003,
        clip_ratio_high: 0.0004,
        tis_cap: 2,
        use_kl_loss: true,
        kl_loss_coef: 0.1,
        kl_loss_type: 'k1',
        max_staleness: 1,
        loss_agg_mode: 'seq-mean-token-sum-norm',
        algorithm: { whiten_advantages: true },
        optim: { lr: 0.01 },
      },
      {
        backbone: 'torch',
        lora: { rank: 2, alpha: 4 },
        torch: { dtype: 'float32', activation_checkpointing: true, reshard: 'never' },
      },
    );
    expect(metrics.map((row) => row['step'])).toEqual([1, 2, 3]);
    for (const row of metrics) {
      expect(row['mismatch_kl']).toBeGreaterThanOrEqual(0);
      expect(row['importance_mean']).toBeCloseTo(1, 0);
      expect(row['truncated_fraction']).toBeGreaterThanOrEqual(0);
    }
    expect(metrics[0]?.['mismatch_kl']).toBeLessThan(1e-6);
    expect(Math.abs(metrics.at(-1)?.['kl'] ?? 0)).toBeGreaterThan(0);
  });
});
