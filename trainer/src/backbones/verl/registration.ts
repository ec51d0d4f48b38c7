import { defineBackbone, setting, z, type SectionOf } from '@agentjet/core';
import { verlCapabilities, vllmKeys } from '../capabilities.js';

/** With `backbone: verl`, verl's workers train and sample on the nodes that Ray chooses. */

const text = z.string().min(1);

const section = z.strictObject({
  python: setting(
    text.nullable(),
    null,
    'interpreter of the driver; null: AJET_VERL_PYTHON, or else the environment of `npm run setup:verl`',
  ),
  ray_address: setting(
    text.nullable(),
    null,
    'address of a running Ray cluster: auto | host:port of its head; null: the run starts Ray on this machine and ends it',
  ),
  num_nodes: setting(
    z.int().min(1).max(1024),
    1,
    'number of nodes of the cluster, each with trainer_common.n_gpus_per_node workers, one per GPU',
  ),
  shard_over: setting(
    z.enum(['node', 'all']),
    'all',
    'with several nodes: node: shards within each node, with a replica on each | all: shards over all GPUs',
  ),
  dtype: setting(z.enum(['auto', 'bfloat16', 'float32']), 'auto', 'dtype of the compute: auto | bfloat16 | float32'),
  attn_implementation: setting(
    text,
    'sdpa',
    'attention by its name in transformers; flash_attention_2 must be installed',
  ),
  activation_checkpointing: setting(z.boolean(), false, 'takes less memory and one more forward pass'),
  cpu_offload: setting(z.boolean(), false, 'keeps weights and optimizer states in host memory'),
  cuda_graphs: setting(z.boolean(), true, 'the sampler makes one launch for each token'),
});

export type VerlSection = SectionOf<typeof section>;

export const verl = defineBackbone({
  name: 'verl',
  summary: "trains in verl's workers on Ray",
  section,
  freeOnResume: [
    'python',
    'ray_address',
    'num_nodes',
    'shard_over',
    'attn_implementation',
    'activation_checkpointing',
    'cpu_offload',
    'cuda_graphs',
  ],
  capabilities: verlCapabilities,
  loadEstimate: async () => (await import('./estimate-need.js')).estimateVerl,
  ignores: vllmKeys,
  allows: { 'rollout.name': ['builtin'], 'lora.rank': [0] },
  async open(settings, parts) {
    const [{ createVerlBackbone }, { toVerlOptions }, { reportLines }] = await Promise.all([
      import('./create-verl-backbone.js'),
      import('./options.js'),
      import('../python-worker/worker-notice.js'),
    ]);
    return createVerlBackbone({ ...toVerlOptions(settings, parts), onLogLine: reportLines(parts.notice) });
  },
});
