import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { attachCommand } from './attach-command.js';
import { hasTorch, testPython } from './testing-worker.js';
import { torchHome } from '../python-worker/find-python.js';

const read = (name: string): string => readFileSync(path.join(torchHome.dir, 'recipes', name), 'utf8');

/** Returns the flags of the line that a run prints, without their values. */
const flags = attachCommand({ address: 'a:1', token: 'b', numNodes: 2, gpusPerNode: 8 })
  .split(' ')
  .filter((part) => part.startsWith('--'))
  .map((part) => part.split('=')[0]);

describe('a recipe for several nodes', () => {
  test.each(['slurm.sh', 'jobset.yaml', 'start_on_ray.py', 'skypilot.yaml'])(
    '%s gives the launcher every flag that the printed line has',
    (name) => {
      for (const flag of flags) expect(read(name)).toContain(flag);
      for (const word of ['AJET_CONNECT', 'AJET_TOKEN', 'ajet_torch.worker', 'expandable_segments:True'])
        expect(read(name)).toContain(word);
    },
  );

  test('for Slurm is a shell script', () => {
    const checked = spawnSync('bash', ['-n', path.join(torchHome.dir, 'recipes/slurm.sh')], { encoding: 'utf8' });
    expect(checked).toMatchObject({ status: 0, stderr: '' });
  });

  test('for a JobSet starts as many pods as its launchers wait for, and names the first of them', () => {
    const jobset = parse(read('jobset.yaml')) as JobSet;
    const [job] = jobset.spec.replicatedJobs;
    const [container] = job?.template.spec.template.spec.containers ?? [];
    const line = container?.command.at(-1) ?? '';
    expect(line).toContain(`--nnodes=${job?.template.spec.parallelism} `);
    expect(line).toContain(`--nproc-per-node=${container?.resources.limits['nvidia.com/gpu']} `);
    expect(line).toContain(`${jobset.metadata.name}-${job?.name}-0-0.${jobset.metadata.name}:29500`);
  });

  test('for SkyPilot asks for both values and takes the nodes from its environment', () => {
    const task = parse(read('skypilot.yaml')) as {
      readonly envs: Readonly<Record<string, unknown>>;
      readonly run: string;
    };
    expect(task.envs).toEqual({ AJET_CONNECT: null, AJET_TOKEN: null });
    expect(task.run).toContain('"$SKYPILOT_NUM_NODES"');
  });

  test.skipIf(!hasTorch)('for Ray makes the same line, without Ray being installed', () => {
    const print = 'import ray_recipe; print(" ".join(ray_recipe.launcher(2, 8, "HEAD")))';
    const load = `import importlib.util, sys; spec = importlib.util.spec_from_file_location("ray_recipe", ${JSON.stringify(path.join(torchHome.dir, 'recipes/start_on_ray.py'))}); m = importlib.util.module_from_spec(spec); sys.modules["ray_recipe"] = m; spec.loader.exec_module(m); ${print}`;
    const said = spawnSync(testPython, ['-c', load], { encoding: 'utf8' });
    expect(said.stdout).toContain(
      'torch.distributed.run --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=HEAD:29500',
    );
  });
});

type JobSet = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicatedJobs: readonly {
      readonly name: string;
      readonly template: {
        readonly spec: {
          readonly parallelism: number;
          readonly template: {
            readonly spec: {
              readonly containers: readonly {
                readonly command: readonly string[];
                readonly resources: { readonly limits: Readonly<Record<string, number>> };
              }[];
            };
          };
        };
      };
    }[];
  };
};
