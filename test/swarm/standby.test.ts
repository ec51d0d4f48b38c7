import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration } from 'agentjet';
import { createProgram } from '@agentjet/cli';
import { SwarmOperator } from '@agentjet/swarm-client';
import { serveStandby, type Standby } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { freePort } from './free-port.js';

let dir = '';
let port = 0;
let standby: Standby;

/** When each served run began and ended. */
let followed: string[] = [];

const open = (allowsCode = false): Promise<Standby> =>
  serveStandby({
    dir: path.join(dir, 'server'),
    port,
    allowsCode,
    composition: configuration,
    follow: ({ runDir }) => {
      followed.push(`begin ${runDir}`);
      const close = async (): Promise<void> => void followed.push(`end ${runDir}`);
      return { wake: () => undefined, close, leave: close };
    },
    onNotice: () => undefined,
  });

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standby-'));
  port = await freePort();
  followed = [];
  standby = await open();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await standby.close();
  await rm(dir, { recursive: true, force: true });
});

it('a run begins from the YAML file of another machine, and the same server continues it', async () => {
  const key = standby.firstKey ?? '';
  const operator = new SwarmOperator({ url: standby.url, key });
  await expect.poll(() => operator.server().catch((error: unknown) => error)).toMatchObject({ code: 'no_run' });
  await expect(new SwarmOperator({ url: standby.url, key: 'ajk_commander_0_0' }).begin({})).rejects.toMatchObject({
    code: 'unknown_key',
  });
  await expect(operator.begin({ rollout: { user_workflow: 'a.ts->A' } })).rejects.toMatchObject({
    code: 'unknown_config',
  });
  await expect(operator.begin({ dta: {} })).rejects.toMatchObject({ code: 'unknown_config' });
  const yaml = path.join(dir, 'run.yaml');
  await writeFile(
    yaml,
    `ajet:
  model: { path: nano }
  data: { train_batch_size: 3 }
  rollout: { user_workflow: 'here.ts->Here' }
  onnx: { num_threads: 1 }
  swarm: { shares: [{ name: math, part: 1 }] }
`,
  );
  vi.stubEnv('AJET_SWARM_KEY', key);
  await createProgram(() => {}).parseAsync(['node', 'ajet', 'swarm', 'begin', '--conf', yaml, '--server', standby.url]);
  expect(await operator.server()).toMatchObject({ state: 'rolling', step: 0, shares: { math: { part: 1 } } });
  expect(await operator.begin({ data: { train_batch_size: 3 } })).toMatchObject({ revision: 0 });
  await expect(operator.begin({ data: { train_batch_size: 4 } })).rejects.toMatchObject({ code: 'other_run' });
  const begins = [{ what: 'run_begun', by: 'first', detail: { run: 'runs' } }];
  expect((await operator.audit()).entries).toMatchObject(begins);
  const { runDir } = await standby.served;
  await standby.close();
  standby = await open();
  expect(standby.firstKey).toBeUndefined();
  expect((await standby.served).runDir).toBe(runDir);
  expect(await operator.server()).toMatchObject({ state: expect.stringMatching(/rolling|recovering/) });
  expect((await operator.audit()).entries).toMatchObject(begins);
});

it('a commander ends a run and begins another, or continues the first under other settings', async () => {
  const operator = new SwarmOperator({ url: standby.url, key: standby.firstKey ?? '' });
  const config = { model: { path: 'nano' }, onnx: { num_threads: 1 } };
  const untilOpen = (): Promise<unknown> =>
    vi.waitUntil(() => operator.server().catch(() => false), { timeout: 120_000, interval: 100 });
  expect(await operator.begin(config)).toMatchObject({ run: 'runs' });
  await untilOpen();
  const first = (await standby.served).runDir;
  expect(await operator.endRun()).toMatchObject({ run: 'runs' });
  await expect.poll(() => operator.server().catch((error: unknown) => error)).toMatchObject({ code: 'no_run' });
  await expect(operator.begin(config, 'runs-7')).rejects.toMatchObject({ code: 'other_run' });
  expect(await operator.begin({ ...config, data: { train_batch_size: 3 } })).toMatchObject({ run: 'runs-2' });
  await untilOpen();
  const second = (await standby.served).runDir;
  expect(second).not.toBe(first);
  expect(followed).toEqual([`begin ${first}`, `end ${first}`, `begin ${second}`]);
  await expect(operator.begin(config, 'runs')).rejects.toMatchObject({ code: 'other_run' });
  await operator.endRun();
  await expect.poll(() => operator.begin(config, 'runs').catch(() => undefined)).toBeDefined();
  await untilOpen();
  expect((await standby.served).runDir).toBe(first);
  expect((await operator.audit()).entries.map(({ what }) => what)).toEqual(['run_begun', 'run_ended', 'run_begun']);
});

it('a run that cannot begin is reported, and another one may', async () => {
  const operator = new SwarmOperator({ url: standby.url, key: standby.firstKey ?? '' });
  await operator.begin({ backbone: 'debug' });
  await expect
    .poll(() => operator.server().catch((error: unknown) => String(error)))
    .toContain('The last one could not begin');
  await operator.begin({ model: { path: 'nano' }, onnx: { num_threads: 1 } });
  await standby.served;
});

it('a run whose commander was answered begins after a kill, and one that cannot begin leaves room for another', async () => {
  const key = standby.firstKey ?? '';
  await standby.close();
  const answered = { config: { model: { path: './not-there' } }, run: null };
  // Write the files that a kill at this moment would leave.
  await writeFile(path.join(dir, 'server', 'run.json'), JSON.stringify(answered));
  standby = await open();
  const operator = new SwarmOperator({ url: standby.url, key });
  await expect
    .poll(() => operator.server().catch((error: unknown) => String(error)))
    .toContain('The last one could not begin');
  await operator.begin({ model: { path: 'nano' }, onnx: { num_threads: 1 } });
  await standby.served;
});

it('closes while a run that cannot begin is begun', async () => {
  await standby.close();
  const answered = { config: { model: { path: './not-there' } }, run: null };
  await writeFile(path.join(dir, 'server', 'run.json'), JSON.stringify(answered));
  standby = await open();
  await standby.close();
  await expect(standby.served).rejects.toThrow();
});

it('a port that another server has is refused, before a key is made that nobody would see', async () => {
  const other = { dir: path.join(dir, 'other'), composition: configuration, onNotice: () => undefined };
  await expect(serveStandby({ ...other, port })).rejects.toMatchObject({ code: 'cannot_listen' });
  const free = await serveStandby({ ...other, port: 0 });
  const operator = new SwarmOperator({ url: free.url, key: free.firstKey });
  await expect.poll(() => operator.server().catch((error: unknown) => error)).toMatchObject({ code: 'no_run' });
  await free.close();
});

it('says when the run that it should continue cannot be served any more', async () => {
  await standby.close();
  const lost = { config: { model: { path: 'nano' } }, run: path.join(dir, 'lost') };
  await writeFile(path.join(dir, 'server', 'run.json'), JSON.stringify(lost));
  standby = await open();
  expect(await standby.failed).toMatchObject({ code: expect.any(String) as unknown });
});

it('takes registered names only from another machine, unless the server was started with --allow-code', async () => {
  const key = standby.firstKey ?? '';
  const operator = new SwarmOperator({ url: standby.url, key });
  const file = path.join(dir, 'code.mjs');
  await writeFile(file, `throw new Error('the code of the commander ran');`);
  for (const [name, config] of reaching(file)) {
    const refusal = await operator.begin(config).catch((error: unknown) => error);
    expect(refusal, name).toMatchObject({ code: 'code_refused', message: expect.stringContaining(name) });
    expect(refusal, name).toMatchObject({ message: expect.stringContaining('--allow-code') });
  }
  await standby.close();
  standby = await open(true);
  await expect.poll(() => operator.server().catch((error: unknown) => error)).toMatchObject({ code: 'no_run' });
  await operator.begin({ trainer_common: { algorithm: { adv_estimator: `${file}->X` } } });
  await expect
    .poll(() => operator.server().catch(({ message }: Error) => message))
    .toContain('the code of the commander ran');
});

const reaching = (file: string): readonly (readonly [string, Record<string, unknown>])[] => [
  ['backbone', { backbone: `${file}->X` }],
  ['model.template_family', { model: { template_family: `${file}->X` } }],
  ['trainer_common.algorithm.adv_estimator', { trainer_common: { algorithm: { adv_estimator: `${file}->X` } } }],
  ['torch.python', { torch: { python: '/bin/sh' } }],
  ['tinker.base_url', { tinker: { base_url: 'http://10.0.0.1' } }],
  ['environment.mcp.args', { environment: { mcp: { args: ['-c', 'id'] } } }],
  ['experiment_dir', { experiment_dir: '/tmp' }],
  ['model.path', { model: { path: dir } }],
  ['model.path', { model: { path: '../server' } }],
  ['swarm.store_dir', { swarm: { store_dir: dir } }],
  ['swarm.policies.a.backbone', { swarm: { policies: policiesWith({ backbone: `${file}->X` }) } }],
  ['swarm.policies.a.model.path', { swarm: { policies: policiesWith({ model: { path: '/etc' } }) } }],
];

const policiesWith = (own: object): object => ({
  a: { trainable_targets: ['a'], ...own },
  b: { trainable_targets: ['b'] },
});
