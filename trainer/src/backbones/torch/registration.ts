import { defineBackbone, setting, z, type SectionOf } from '@agentjet/core';
import { torchCapabilities } from '../capabilities.js';

/**
 * With `backbone: torch`, a Python worker samples and trains on the GPUs of this machine, or of several machines on
 * which launchers start it.
 */

const text = z.string().min(1);

const section = z.strictObject({
  python: setting(
    text.nullable(),
    null,
    'interpreter; null: AJET_TORCH_PYTHON, or else the environment of `npm run setup:torch`',
  ),
  dtype: setting(
    z.enum(['auto', 'bfloat16', 'float32', 'float64']),
    'auto',
    'dtype of the compute: auto | bfloat16 | float32 | float64',
  ),
  master_weights: setting(
    z.enum(['float32', 'bfloat16']),
    'float32',
    'float32 | bfloat16: updates are rounded at random, which saves 2 bytes a weight, or 4 on several GPUs',
  ),
  master_start: setting(
    z.enum(['auto', 'zero', 'file', 'dithered']),
    'auto',
    'masters of bfloat16 weights at the start: auto: as file, if masters are kept in float32 | zero: the weights themselves | file: the values of a float32 file | dithered: as file, or drawn among the values that round to the weight if there is no such file. With lora: auto or zero',
  ),
  matmul: setting(
    z.enum(['plain', 'fp8']),
    'plain',
    'plain: in dtype | fp8: large models train faster on Ada, Hopper and later, with coarser gradients; not with lora',
  ),
  attention: setting(
    z.enum(['auto', 'dense', 'flex', 'rows', 'flash4']),
    'auto',
    'auto: the fastest available | dense | flex | rows | flash4, which must be installed',
  ),
  compile: setting(
    z.enum(['auto', 'on', 'off']),
    'auto',
    'auto: on GPUs, except small models whose layers need no compiler | on | off',
  ),
  activation_checkpointing: setting(z.boolean(), false, 'takes less memory and one more forward pass'),
  activation_budget: setting(
    z.number().min(0).max(1),
    1,
    'share of the activations that compiled layers keep; below 1, layers compute the cheapest ones again',
  ),
  cpu_offload: setting(z.boolean(), false, 'keeps weights and optimizer states in host memory'),
  reshard: setting(
    z.enum(['auto', 'always', 'never']),
    'auto',
    'with several GPUs, when gathered weights are freed after each layer: auto: if memory is short | always | never',
  ),
  launch: setting(
    z.enum(['local', 'attach']),
    'local',
    'local: this process starts the worker | attach: launchers do (torchrun, Slurm, ...), with the line that is printed',
  ),
  num_nodes: setting(
    z.int().min(1).max(1024),
    1,
    'with attach, the number of nodes, each with trainer_common.n_gpus_per_node GPUs',
  ),
  shard_over: setting(
    z.enum(['node', 'all']),
    'node',
    'with several nodes: node: shards within each node, with a replica on each | all: shards over all GPUs',
  ),
  cuda_graphs: setting(z.boolean(), true, 'the sampler `builtin` makes one launch for each token'),
  listen_host: setting(
    text,
    '127.0.0.1',
    'address to wait for the worker on; any address except the loopback needs a token',
  ),
  listen_port: setting(z.int().min(0).max(65_535), 0, 'port to wait for the worker on; 0: any free port'),
  token: setting(
    text.nullable(),
    null,
    'token that the worker must show; null: a random one, which the folder of a swarm run keeps',
    {
      isSecret: true,
    },
  ),
});

export type TorchSection = SectionOf<typeof section>;

export const torch = defineBackbone({
  name: 'torch',
  summary: 'trains on GPUs',
  section,
  freeOnResume: [
    'python',
    'compile',
    'activation_checkpointing',
    'activation_budget',
    'cpu_offload',
    'reshard',
    'launch',
    'num_nodes',
    'shard_over',
    'cuda_graphs',
    'listen_host',
    'listen_port',
    'token',
  ],
  capabilities: torchCapabilities,
  loadEstimate: async () => (await import('./estimate-need.js')).estimateTorch,
  async open(settings, parts) {
    const [{ createTorchBackbone }, { toTorchOptions }, { reportLines }] = await Promise.all([
      import('./create-torch-backbone.js'),
      import('./options.js'),
      import('../python-worker/worker-notice.js'),
    ]);
    return createTorchBackbone({ ...toTorchOptions(settings, parts), onLogLine: reportLines(parts.notice) });
  },
});
