import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configuration } from './registrations.js';

const { load: loadConfig, create: createConfig, format: formatConfig, compare: compareConfigs } = configuration;

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'ajet-config-'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function load(text: string, ...overrides: string[]) {
  writeFileSync(path.join(cwd, 'math-agent.yaml'), text);
  return loadConfig('math-agent.yaml', overrides, { cwd });
}

function errorOf(run: () => unknown): ConfigError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('loadConfig', () => {
  it('spells every key in camelCase but those of a chat template', () => {
    const config = load(
      'ajet:\n  rollout: { val_kwargs: { top_p: 0.9 } }\n  model: { chat_template_kwargs: { enable_thinking: false } }\n',
    );
    expect(config.rollout.valKwargs).toEqual({ temperature: 0, topP: 0.9, topK: -1 });
    expect(config.model.chatTemplateKwargs).toEqual({ enable_thinking: false });
    expect(createConfig(config)).toEqual(config);
  });

  it('takes the defaults, then the file, then the overrides', () => {
    const config = load(
      'ajet:\n  rollout: { num_repeat: 4, temperature: 0.7 }\n',
      'rollout.num_repeat=2',
      'ajet.trainer_common.optim.lr=1e-6',
    );
    expect(config.rollout.numRepeat).toBe(2);
    expect(config.rollout.temperature).toBe(0.7);
    expect(config.rollout.topP).toBe(1);
    expect(config.trainerCommon.optim.lr).toBe(1e-6);
  });

  it('reads lists and null from overrides, and leaves an empty section alone', () => {
    const config = load(
      'ajet:\n  rollout:\n  trainable_targets: [villager]\n',
      'trainable_targets=[werewolf, seer]',
      'trainer_common.total_training_steps=null',
    );
    expect(config.trainableTargets).toEqual(['werewolf', 'seer']);
    expect(config.trainerCommon.totalTrainingSteps).toBeNull();
    expect(config.rollout.numRepeat).toBe(8);
  });

  it('finds paths next to the file first, then in the working directory, and writes below the working directory', () => {
    mkdirSync(path.join(cwd, 'deep'), { recursive: true });
    writeFileSync(path.join(cwd, 'deep/agent.ts'), '');
    writeFileSync(path.join(cwd, 'tasks.jsonl'), '');
    writeFileSync(
      path.join(cwd, 'deep/run.yaml'),
      'ajet:\n  rollout: { user_workflow: agent.ts->Agent }\n  task_reader: { jsonl_dataset_file: { training: { file_path: tasks.jsonl } } }\n',
    );
    const config = loadConfig('deep/run.yaml', [], { cwd });
    expect(config.rollout.userWorkflow).toBe(`${path.join(cwd, 'deep/agent.ts')}->Agent`);
    expect(config.taskReader.jsonlDatasetFile.training.filePath).toBe(path.join(cwd, 'tasks.jsonl'));
    expect(config.experimentDir).toBe(path.join(cwd, 'saved_experiments'));
    expect(config.model.path).toBe('nano');
  });

  it('finds a judge that is part of another next to the file, and leaves the underscores of its path alone', () => {
    const folder = path.join(cwd, 'my_jobs');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'my_judges.ts'), '');
    writeFileSync(
      path.join(folder, 'run.yaml'),
      'ajet:\n  task_judge:\n    combined: { parts: { my_judges.ts->Style: 0.7, llm: 0.3 }, gates: [my_judges.ts->Form] }\n',
    );
    const config = loadConfig('my_jobs/run.yaml', [], { cwd });
    const judges = path.join(folder, 'my_judges.ts');
    expect(config.taskJudge.combined).toMatchObject({
      parts: { [`${judges}->Style`]: 0.7, llm: 0.3 },
      gates: [`${judges}->Form`],
    });
    expect(formatConfig(config)).toContain(`${judges}->Style: 0.7`);
  });

  it('finds patterns by the folder before their first wildcard', () => {
    mkdirSync(path.join(cwd, 'jobs/documents'), { recursive: true });
    mkdirSync(path.join(cwd, 'traces'), { recursive: true });
    writeFileSync(
      path.join(cwd, 'jobs/run.yaml'),
      'ajet:\n  task_reader:\n    data_generation: { document_reader: { document_path: [documents/*.md] } }\n    feedback_tracing: { sources: [traces/*.jsonl] }\n',
    );
    const { taskReader } = loadConfig('jobs/run.yaml', [], { cwd });
    expect(taskReader.dataGeneration.documentReader.documentPath).toEqual([path.join(cwd, 'jobs/documents/*.md')]);
    expect(taskReader.feedbackTracing.sources).toEqual([path.join(cwd, 'traces/*.jsonl')]);
  });
});

describe('what is wrong with a configuration', () => {
  it.each([
    [
      'a misspelled key',
      '\n\najet:\n  rollout:\n    num_repeats: 4\n',
      'unknown_key',
      'Unknown key "rollout.num_repeats" in math-agent.yaml:5, with the value 4. Did you mean "rollout.num_repeat"?',
    ],
    [
      'a camelCase key',
      'ajet:\n  rollout:\n    numRepeat: 4\n',
      'unknown_key',
      'Unknown key "rollout.numRepeat" in math-agent.yaml:3, with the value 4. Did you mean "rollout.num_repeat"?',
    ],
    [
      'a key in capitals',
      'ajet:\n  rollout:\n    NUM_REPEAT: 4\n',
      'unknown_key',
      'Did you mean "rollout.num_repeat"?',
    ],
    [
      'a key in the wrong section',
      'ajet:\n  trainer_common:\n    lr: 4\n',
      'unknown_key',
      'Did you mean "trainer_common.optim.lr"?',
    ],
    [
      'a key of nobody',
      'ajet:\n  flux_capacitor: 4\n',
      'unknown_key',
      'Unknown key "flux_capacitor" in math-agent.yaml:2, with the value 4. Remove it; default.yaml lists every key.',
    ],
    [
      'a key only the original has',
      'ajet:\n  trainer_common:\n    checkpoint_base_dir: x\n',
      'unknown_key',
      '"trainer_common.checkpoint_base_dir" in math-agent.yaml:3 has no meaning here. Use "experiment_dir". Checkpoints are in the run folder',
    ],
    ...['deduplication', 'deduplication_filter'].map((name) => [
      `data_generation.${name}`,
      `ajet:\n  task_reader:\n    data_generation:\n      ${name}: { threshold: 0.9 }\n`,
      'unknown_key',
      `"task_reader.data_generation.${name}" in math-agent.yaml:4 has no meaning here. Use "task_reader.data_generation.similarity"`,
    ]),
    [
      'a key outside of ajet',
      'ajet: {}\nhydra:\n  x: 1\n',
      'unknown_key',
      'Unknown key "hydra" at the top of math-agent.yaml:2. Everything belongs under "ajet:"',
    ],
    [
      'a string for a number',
      'ajet:\n  rollout:\n    top_p: 1\n    num_repeat: many\n',
      'wrong_type',
      '"rollout.num_repeat" in math-agent.yaml:4 is "many", but must be a number.',
    ],
    [
      'a fraction for a count',
      'ajet:\n  rollout:\n    num_repeat: 1.5\n',
      'wrong_type',
      '"rollout.num_repeat" in math-agent.yaml:3 is 1.5, but must be a whole number.',
    ],
    [
      'a number out of range',
      'ajet:\n  rollout:\n    top_p: 1.5\n',
      'wrong_type',
      '"rollout.top_p" in math-agent.yaml:3 is 1.5, but must be at most 1.',
    ],
    [
      'a number that is the bound that it must be below',
      'ajet:\n  sft:\n    held_out: 1\n',
      'wrong_type',
      '"sft.held_out" in math-agent.yaml:3 is 1, but must be less than 1.',
    ],
    [
      'an unknown environment',
      'ajet:\n  environment:\n    protocol: nemo-gym\n',
      'wrong_type',
      '"environment.protocol" in math-agent.yaml:3 is "nemo-gym", but must be one of agentjet, openenv, mcp, appworld, harbor, none. To use an environment from your code, write path/file.ts->Export.',
    ],
    [
      'an unknown choice',
      'ajet:\n  backbone: trinity\n',
      'wrong_type',
      '"backbone" in math-agent.yaml:2 is "trinity", but must be one of onnx, torch, tinker, verl, debug. Trinity draws its own tasks and decides when weights are updated, so it cannot be the backbone of this training loop. Use "torch", or "tinker" or "verl" for a cluster. To train while episodes run, set trainer_common.max_staleness to 1 or 2.',
    ],
    [
      'a choice of the original, written otherwise',
      'ajet:\n  backbone: Trinity-RFT\n',
      'wrong_type',
      '"backbone" in math-agent.yaml:2 is "Trinity-RFT", but must be one of onnx, torch, tinker, verl, debug. Trinity draws its own tasks and decides when weights are updated, so it cannot be the backbone of this training loop. Use "torch", or "tinker" or "verl" for a cluster. To train while episodes run, set trainer_common.max_staleness to 1 or 2.',
    ],
    [
      'a value in place of a section',
      'ajet:\n  rollout: 4\n',
      'wrong_type',
      '"rollout" in math-agent.yaml:2 is 4, but must be a section.',
    ],
    [
      'no trainable target',
      'ajet:\n  trainable_targets: []\n',
      'wrong_type',
      '"trainable_targets" in math-agent.yaml:2 is [], but must be not empty.',
    ],
    ['broken YAML', 'ajet:\n  rollout: [1, 2\n', 'bad_yaml', 'math-agent.yaml:3:1 is not valid YAML:'],
    [
      'a key written twice',
      'ajet:\n  backbone: onnx\n  backbone: debug\n',
      'bad_yaml',
      'math-agent.yaml:3:3 is not valid YAML: Map keys must be unique',
    ],
    [
      'an alias without its anchor',
      'ajet:\n  rollout: *other\n',
      'bad_yaml',
      'math-agent.yaml is not valid YAML: Unresolved alias',
    ],
    [
      'too few values',
      'ajet:\n  trainer_common:\n    optim:\n      betas: [0.9]\n',
      'wrong_type',
      '"trainer_common.optim.betas" in math-agent.yaml:4 is [0.9], but must be 2 values.',
    ],
    [
      'text that is not a number',
      'ajet:\n  rollout:\n    temperature: .nan\n',
      'wrong_type',
      '"rollout.temperature" in math-agent.yaml:3 is NaN, but must be a number.',
    ],
    ['an empty file', '\n', 'missing_section', 'math-agent.yaml is empty.'],
    ['a list', '- 1\n', 'wrong_type', 'math-agent.yaml holds [1], not a mapping.'],
    [
      'what a backbone does not have',
      'ajet:\n  backbone: verl\n  lora:\n    rank: 8\n',
      'conflict',
      '"lora.rank" in math-agent.yaml:4 is 8, which the backbone verl does not have. Remove it, or use backbone: onnx or torch.',
    ],
    [
      'an adapter to begin with, but none to train',
      'ajet:\n  lora:\n    adapter: /adapters/first\n',
      'conflict',
      '"lora.adapter" (math-agent.yaml:3) names an adapter, and "lora.rank" 0 trains all weights.',
    ],
    [
      'an adapter and KL in the reward',
      'ajet:\n  lora: { rank: 4, adapter: /adapters/first }\n  trainer_common:\n    algorithm: { use_kl_in_reward: true }\n',
      'conflict',
      '"lora.adapter" (math-agent.yaml:2) cannot be used with "trainer_common.algorithm.use_kl_in_reward"',
    ],
    [
      'sampling ahead that allows nothing',
      'ajet:\n  trainer_common:\n    max_staleness: 1\n    ppo_epochs: 2\n',
      'conflict',
      '"trainer_common.max_staleness" 1 (math-agent.yaml:3) is too small to sample ahead',
    ],
    [
      'a level of the importance weight with TIS, which has tokens only',
      'ajet:\n  trainer_common:\n    tis_cap: 2\n    rollout_is_level: sequence\n',
      'conflict',
      '"trainer_common.rollout_is_level" sequence (math-agent.yaml:4) has no effect with "trainer_common.tis_cap" 2, which truncates the weights of tokens. Set rollout_is_threshold in place of tis_cap, or remove rollout_is_level.',
    ],
    [
      'a way to limit the importance weight without a limit',
      'ajet:\n  trainer_common:\n    rollout_is_mode: truncate\n',
      'conflict',
      '"trainer_common.rollout_is_mode" truncate (math-agent.yaml:3) has no effect with "trainer_common.rollout_is_threshold" 0.',
    ],
    [
      'limits of the importance weight that leave nothing',
      'ajet:\n  trainer_common:\n    rollout_is_threshold: 1\n    rollout_is_threshold_lower: 1\n',
      'conflict',
      '"trainer_common.rollout_is_threshold_lower" 1 (math-agent.yaml:4) is not below "trainer_common.rollout_is_threshold" 1',
    ],
    [
      'a constant length for another aggregation',
      'ajet:\n  trainer_common:\n    loss_scale_factor: 100\n',
      'conflict',
      '"trainer_common.loss_scale_factor" 100 (math-agent.yaml:3) has no effect with "trainer_common.loss_agg_mode" token-mean.',
    ],
    [
      'a punishment of every answer',
      'ajet:\n  trainer_common:\n    overlong_buffer: { len: 257 }\n',
      'conflict',
      '"trainer_common.overlong_buffer.len" 257 (math-agent.yaml:3) is more than "rollout.max_response_length_in_one_turn" 256',
    ],
    [
      'replicas of a sampler that has none',
      'ajet:\n  backbone: torch\n  rollout:\n    num_replicas: 2\n',
      'conflict',
      '"rollout.num_replicas" 2 (math-agent.yaml:4) is for vLLM: the sampler "builtin" runs on each GPU of the trainer by itself. Set it to 1, or "rollout.name" to "vllm".',
    ],
    [
      'replicas on more GPUs than they share with the trainer',
      'ajet:\n  backbone: torch\n  trainer_common: { n_gpus_per_node: 3 }\n  rollout:\n    name: vllm\n    tensor_model_parallel_size: 2\n    num_replicas: 2\n',
      'conflict',
      '"rollout.num_replicas" 2 (math-agent.yaml:7) x "rollout.tensor_model_parallel_size" 2 = 4 GPUs, but the trainer that vLLM shares GPUs with has only 3.',
    ],
    [
      'a key in another place',
      'ajet:\n  max_staleness: 1\n',
      'unknown_key',
      '"max_staleness" in math-agent.yaml:2 has no meaning here. Use "trainer_common.max_staleness".',
    ],
    [
      'lengths that do not fit',
      'ajet:\n  rollout:\n    max_model_len: 1000\n',
      'conflict',
      '= 2048 is more than "rollout.max_model_len" 1000 (math-agent.yaml:3)',
    ],
  ])('%s is named with its line, its value and the repair', (_, text, code, message) => {
    const error = errorOf(() => load(text));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  it('reports every problem at once, a line each', () => {
    const error = errorOf(() => load('ajet:\n  rollout:\n    num_repeats: 4\n    top_p: 3\n'));
    expect(error.message.split('\n')).toHaveLength(2);
  });

  it('names the override', () => {
    expect(errorOf(() => load('ajet: {}', 'rollout.temprature=1')).message).toBe(
      'Unknown key "rollout.temprature" in the override "rollout.temprature=1". Did you mean "rollout.temperature"?',
    );
    expect(errorOf(() => load('ajet: {}', 'temperature')).code).toBe('bad_override');
    expect(errorOf(() => load('ajet: {}', 'rollout={a: ')).code).toBe('bad_override');
    expect(errorOf(() => load('ajet: {}', 'rollout=*other')).code).toBe('bad_override');
  });

  it('names a file that is missing', () => {
    const error = errorOf(() => loadConfig('nowhere.yaml', [], { cwd }));
    expect(error.code).toBe('missing_file');
    expect(error.message).toContain(path.join(cwd, 'nowhere.yaml'));
  });
});

describe('formatConfig', () => {
  it('writes what loadConfig reads back, without the API key and the token', () => {
    const config = createConfig(
      {
        debug: { apiKey: 'sk-secret' },
        torch: { token: 'tk-secret' },
        rollout: { numRepeat: 3 },
        trainerCommon: { optim: { betas: [0.8, 0.9] } },
      },
      { cwd },
    );
    const text = formatConfig(config, 'two\nlines');
    expect(text).toMatch(/^# two\n# lines\najet:\n/);
    expect(text).not.toMatch(/sk-secret|tk-secret/);
    expect(compareConfigs(config, load(text))).toEqual([
      { key: 'torch.token', before: 'tk-secret', after: null },
      { key: 'debug.api_key', before: 'sk-secret', after: null },
    ]);
  });

  it('finds what differs, in the spelling of the file', () => {
    const before = createConfig({}, { cwd });
    const after = createConfig({ rollout: { numRepeat: 3 }, trainableTargets: ['a'] }, { cwd });
    expect(compareConfigs(before, after)).toEqual([
      { key: 'trainable_targets', before: null, after: ['a'] },
      { key: 'rollout.num_repeat', before: 8, after: 3 },
    ]);
  });
});
