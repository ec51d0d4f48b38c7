import { defineBackbone, setting, z, type BackboneParts, type SectionOf } from '@agentjet/core';
import { idleOptimizer } from '../idle-optimizer.js';
import { toWorkerNotice } from '../python-worker/worker-notice.js';
import { verlCapabilities } from './capabilities.js';
import { estimateVerl } from './estimate-need.js';
import type { VerlBackboneOptions } from './options.js';

/** `backbone: verl`: verl's workers train and sample, where Ray places them. */

const text = z.string().min(1);

const section = z.strictObject({
  python: setting(
    text.nullable(),
    null,
    'interpreter of the driver; null: AJET_VERL_PYTHON, else the environment of `npm run setup:verl`',
  ),
  ray_address: setting(
    text.nullable(),
    null,
    'of a Ray cluster that runs: auto | host:port of its head; null: Ray is started on this machine, and ends with the run',
  ),
  num_nodes: setting(
    z.int().min(1).max(1024),
    1,
    'of the cluster, each with trainer_common.n_gpus_per_node workers, one per GPU',
  ),
  shard_over: setting(
    z.enum(['node', 'all']),
    'all',
    'several nodes: node: shards within each, a replica on each | all: shards over all GPUs',
  ),
  dtype: setting(z.enum(['auto', 'bfloat16', 'float32']), 'auto', 'of the compute: auto | bfloat16 | float32'),
  attn_implementation: setting(text, 'sdpa', 'as transformers names it; flash_attention_2 must be installed'),
  activation_checkpointing: setting(z.boolean(), false, 'less memory, a forward pass more'),
  cpu_offload: setting(z.boolean(), false, 'weights and optimizer states in host memory'),
  cuda_graphs: setting(z.boolean(), true, 'of the sampler: one launch for each token'),
});

/** The backbone's options, from the names of the YAML. */
export function toVerlOptions(
  verl: SectionOf<typeof section>,
  { config, modelDir, optimizer = idleOptimizer }: Omit<BackboneParts, 'notice'>,
): VerlBackboneOptions {
  const { rollout, trainerCommon } = config;
  return {
    modelDir,
    optimizer,
    seed: trainerCommon.seed,
    numNodes: verl.numNodes,
    gpusPerNode: trainerCommon.nGpusPerNode,
    dtype: verl.dtype,
    maxPackTokens: trainerCommon.maxPackTokens,
    attnImplementation: verl.attnImplementation,
    activationCheckpointing: verl.activationCheckpointing,
    cpuOffload: verl.cpuOffload,
    shardOver: verl.shardOver,
    loss: { objective: trainerCommon.lossMode, tisCap: trainerCommon.tisCap },
    inference: {
      kvTokens: rollout.maxModelLen,
      cudaGraphs: verl.cudaGraphs,
      ...(rollout.maxNumSeqs === null ? {} : { slots: rollout.maxNumSeqs }),
    },
    ...(verl.rayAddress === null ? {} : { rayAddress: verl.rayAddress }),
    ...(verl.python === null ? {} : { python: verl.python }),
  };
}

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
  estimate: estimateVerl,
  allows: { 'rollout.name': ['builtin'], 'lora.rank': [0] },
  async open(settings, parts) {
    const { createVerlBackbone } = await import('./create-verl-backbone.js');
    const onLogLine = (line: string): void => {
      const message = toWorkerNotice(line);
      if (message !== undefined) parts.notice(message);
    };
    return createVerlBackbone({ ...toVerlOptions(settings, parts), onLogLine });
  },
});
