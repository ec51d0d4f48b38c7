import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configuration } from './registrations.js';

/** The five examples of the Python AgentJet's configuration page, written from its key names. */
const page = (name: string): string => path.join(import.meta.dirname, 'original-page', `${name}.yaml`);

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'ajet-original-'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function load(text: string) {
  writeFileSync(path.join(cwd, 'job.yaml'), text);
  return configuration.load('job.yaml', [], { cwd });
}

function linesOf(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    return error instanceof Error ? error.message.split('\n') : [];
  }
  return [];
}

describe('the configuration page of the Python AgentJet', () => {
  it('loads the training settings', () => {
    const { trainerCommon, torch } = configuration.load(page('3-trainer-common'));
    expect(trainerCommon).toMatchObject({
      totalEpochs: 50,
      saveFreq: 20,
      testFreq: 20,
      valBeforeTrain: false,
      valPassN: 4,
      nGpusPerNode: 8,
    });
    expect(torch.cpuOffload).toBe(true);
  });

  it('loads the algorithm', () => {
    const { trainerCommon } = configuration.load(page('4-algorithm'));
    expect(trainerCommon).toMatchObject({ useKlLoss: true, klLossCoef: 0.002, klLossType: 'low_var_kl' });
    expect(trainerCommon.optim.lr).toBe(1e-6);
    expect(trainerCommon.algorithm.advEstimator).toBe('grpo');
  });

  it('loads the settings of debugging', () => {
    expect(configuration.load(page('5-debug')).debug).toMatchObject({
      debugMaxParallel: 16,
      debugFirstNTasks: 2,
      seed: 12345,
    });
  });

  it('answers what the judge and the rollout cannot take with what to use instead, and nothing else', () => {
    expect(linesOf(() => configuration.load(page('1-task-judge')))).toEqual([
      expect.stringMatching(/"task_judge\.alien_llm_model" in .*1-task-judge\.yaml:5 .* "task_judge\.llm\.model"/),
      expect.stringMatching(/"task_judge\.alien_llm_response_length" in .*:6 .* "task_judge\.llm\.max_tokens"/),
    ]);
    expect(linesOf(() => configuration.load(page('2-rollout')))).toEqual([
      expect.stringMatching(/"rollout\.n_vllm_engine" in .*:8 .* Use "rollout\.num_replicas"/),
    ]);
  });
});

describe('a key of the Python AgentJet', () => {
  it.each([
    ['trainer_common: { nnodes: 2 }', 'Training runs on one machine'],
    ['trainer_common: { fsdp_config: { param_offload: true } }', 'give param_offload and optimizer_offload the same'],
    ['trainer_common: { fsdp_config: { wrap_policy: 3 } }', 'Use "torch.cpu_offload"'],
    ['trainer_common: { checkpoint_base_dir: x }', 'Checkpoints are in the run folder'],
    ['rollout: { enable_oversample: true }', 'Use "rollout.refill_groups"'],
    ['rollout: { submit_oversample_multiplier: 2 }', 'swarm.sample_collection: enough_informative_tasks'],
    ['task_runner: { wrapper_type: x }', '"rollout.workflow_processes" runs their workflows in other processes'],
    ['interchange_server: { interchange_server_port: 1 }', 'A run serves its models on a free port'],
    ['task_reader: { type: hf }', 'Use "huggingface_dat_repo"'],
    ['task_judge: { judge_type: rubrics_auto_grader }', 'task_judge.rubrics'],
    ['backbone: trinity', 'set trainer_common.max_staleness'],
    ['backbone: trl', 'TRL has its own training loop'],
  ])('%s is refused with what to use today', (text, advice) => {
    expect(() => load(`ajet:\n  ${text}\n`)).toThrow(advice);
  });

  it.each(['torch', 'verl'])('backbone: %s is taken as it is', (backbone) => {
    expect(load(`ajet:\n  backbone: ${backbone}\n`).backbone).toBe(backbone);
  });

  it('is taken if another key does the same, and reported if both are given and differ', () => {
    expect(load('ajet:\n  trainer_common: { clip_ratio: 0.1 }\n').trainerCommon).toMatchObject({
      clipRatioLow: 0.1,
      clipRatioHigh: 0.1,
    });
    expect(load('ajet:\n  rollout: { gamma: 0.9 }\n').trainerCommon.algorithm.gamma).toBe(0.9);
    expect(load('ajet:\n  debug: { seed: 5, debug_vllm_seed: 5 }\n').debug.seed).toBe(5);
    expect(() => load('ajet:\n  debug:\n    seed: 5\n    debug_vllm_seed: 6\n')).toThrow(
      '"debug.debug_vllm_seed" in job.yaml:4 and "debug.seed" in job.yaml:3 set the same thing to 6 and 5. Keep "debug.seed".',
    );
    expect(() => load('ajet:\n  debug:\n    debug_vllm_seed: many\n')).toThrow(
      '"debug.seed" in job.yaml:3 is "many", but must be a number.',
    );
  });
});
