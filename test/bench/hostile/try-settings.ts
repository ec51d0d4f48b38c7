import { configuration } from 'agentjet';
import { isJsonObject, nestAtKey, snakeKeys, type JsonObject } from '@agentjet/core';
import { serveStandby } from '@agentjet/swarm-server';
import type { Tally } from './tally.js';

/**
 * Begins runs as another machine would, with code, programs, files, folders and addresses in every setting. The list of
 * settings is read from the configuration, so new settings are tried too.
 */
export async function trySettings(dir: string, { keys, honest }: { readonly keys: Tally; readonly honest: Tally }) {
  const standby = await serveStandby({ dir, port: 0, composition: configuration, onNotice: () => undefined });
  const begin = async (config: JsonObject) => {
    const headers = { authorization: `Bearer ${standby.firstKey}` };
    const body = JSON.stringify({ config });
    const response = await fetch(`${standby.url}/swarm/v1/run`, { method: 'PUT', headers, body });
    return { status: response.status, text: await response.text() };
  };
  try {
    while (!(await fetch(`${standby.url}/swarm/v1/healthz`).catch(() => undefined))?.ok)
      await new Promise((resolve) => setTimeout(resolve, 50));
    for (const [name, value] of attempts()) {
      const { status, text } = await begin(nestAtKey(name, value));
      keys.count(`the setting ${name}`, status >= 400 && status < 500, `${JSON.stringify(value)}: ${status} ${text}`);
      if (status < 400) return; // the server no longer waits for a run
    }
    // The server refuses `debug.model`, which it checks last. The refusal of an honest setting would name that setting.
    for (const config of honestConfigs) {
      const { text } = await begin({ ...config, debug: { model: 'refused/last' } });
      honest.count(`the configuration ${JSON.stringify(config)}`, text.includes('debug.model is'), text);
    }
  } finally {
    await standby.close();
  }
}

const code = ['/tmp/x.mjs->X', './x.mjs->X', '../../etc/passwd', '/bin/sh', 'http://10.0.0.1/', 'file:///etc/passwd'];
const values: readonly unknown[] = [...code, ['/bin/sh', '-c', 'id'], { '/bin/sh': '/tmp/x.mjs->X' }];

function attempts(): readonly (readonly [string, unknown])[] {
  const names = keysOf(snakeKeys(configuration.create({}) as unknown as JsonObject));
  const own = [
    'backbone',
    'model.path',
    'model.template_family',
    'trainer_common.algorithm.adv_estimator',
    'torch.python',
  ];
  const inPolicies = own.flatMap((name) =>
    code.map((value) => {
      const policies = {
        first: { trainable_targets: ['first'] },
        second: { trainable_targets: ['second'], ...nestAtKey(name, value) },
      };
      return ['swarm.policies', policies] as const;
    }),
  );
  return [...names.flatMap((name) => values.map((value) => [name, value] as const)), ...inPolicies];
}

function keysOf(value: JsonObject, prefix = ''): readonly string[] {
  return Object.entries(value).flatMap(([name, inner]) =>
    isJsonObject(inner) && Object.keys(inner).length > 0 ? keysOf(inner, `${prefix}${name}.`) : [`${prefix}${name}`],
  );
}

const honestConfigs: readonly JsonObject[] = [
  {},
  { model: { path: 'nano' } },
  { model: { path: 'micro', chat_template_kwargs: { enable_thinking: false }, template_family: 'hermes' } },
  { model: { path: 'Qwen/Qwen2.5-0.5B-Instruct' } },
  {
    model: { path: 'Qwen/Qwen2.5-0.5B-Instruct@main' },
    backbone: 'torch',
    lora: { rank: 8, target_modules: ['q_proj'] },
  },
  { project_name: 'mine', experiment_name: 'lake/first', trainable_targets: ['wolf', 'a b'] },
  { backbone: 'torch', rollout: { name: 'vllm', num_replicas: 2 }, trainer_common: { n_gpus_per_node: 2 } },
  {
    trainer_common: {
      algorithm: { adv_estimator: 'reinforce', reinforce_baseline: 'group' },
      logger: ['console', 'wandb'],
    },
  },
  { trainer_common: { report_by: 'level', keep_best: 'success_rate', optim: { lr: 1e-4, betas: [0.9, 0.95] } } },
  {
    swarm: {
      shares: [
        { name: 'math', part: 0.5 },
        { name: 'code', part: 0.5 },
      ],
      share_mode: 'strict',
    },
  },
  {
    swarm: {
      policies: { one: { trainable_targets: ['x'], model: { path: 'micro' } }, two: { trainable_targets: ['y'] } },
    },
  },
  { rollout: { untrained_models: ['*haiku*', 'gpt-*'], temperature: 0.8, val_kwargs: { temperature: 0.2 } } },
  { onnx: { num_threads: 2 }, data: { train_batch_size: 4, overlong_sample_policy: 'truncate' } },
];
