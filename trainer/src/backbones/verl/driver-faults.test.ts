import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { describe, expect, test } from 'vitest';

import { schemaVersion } from '../python-worker/messages.js';
import { makeTinyModel, sftBatch, testOptimizer } from '../torch/testing-worker.js';
import { createVerlBackbone } from './create-verl-backbone.js';
import type { VerlBackboneOptions } from './options.js';

const msgpack = pathToFileURL(createRequire(import.meta.url).resolve('@msgpack/msgpack')).href;

/** Writes a driver without Python, Ray and verl. It says hello and ready, and then runs `body` for each `message`. */
function standIn(body: string, beforeHello = `const schema = ${schemaVersion};`): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'ajet-driver-'));
  const file = path.join(dir, 'python.mjs');
  const ready = {
    kind: 'ready',
    context_length: 96,
    vocab_size: 61,
    device: 'cpu',
    dtype: 'float32',
    num_ranks: 2,
    num_parameters: 7,
    versions: { verl: '0.9.1' },
  };
  writeFileSync(
    file,
    `#!${process.execPath}
import { connect } from 'node:net';
import { encode, decode } from ${JSON.stringify(msgpack)};
${beforeHello}
const [host, port] = process.env.AJET_CONNECT.split(':');
const socket = connect(Number(port), host);
const ready = ${JSON.stringify(ready)};
const send = (message) => {
  const bytes = encode(message);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  socket.write(Buffer.concat([head, bytes]));
};
send({ kind: 'hello', schema, token: process.env.AJET_TOKEN });
let buffered = Buffer.alloc(0);
socket.on('data', (chunk) => {
  buffered = Buffer.concat([buffered, chunk]);
  while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32BE(0)) {
    const message = decode(buffered.subarray(4, 4 + buffered.readUInt32BE(0)));
    buffered = buffered.subarray(4 + buffered.readUInt32BE(0));
    if (message.kind === 'close') process.exit(0);
    if (message.kind === 'configure' && !${JSON.stringify(body)}.includes('configure')) send(ready);
    ${body}
  }
});
socket.on('close', () => process.exit(0));
`,
  );
  chmodSync(file, 0o755);
  return file;
}

async function start(python: string, options: Partial<VerlBackboneOptions> = {}) {
  return await createVerlBackbone({
    modelDir: await makeTinyModel(),
    optimizer: testOptimizer,
    seed: 1,
    python,
    startTimeoutMs: 30_000,
    ...options,
  });
}

const fail = (code: string, message: string): string =>
  `send({ kind: 'failed', code: ${JSON.stringify(code)}, message: ${JSON.stringify(message)} });`;

test('without its environment the verl backbone says what makes it', async () => {
  await expect(start('/nowhere/python')).rejects.toMatchObject({
    code: 'no_python',
    message: expect.stringMatching(/\/nowhere\/python.*npm run setup:verl.*AJET_VERL_PYTHON/) as unknown,
  });
});

describe.skipIf(process.platform === 'win32')('the driver of verl', () => {
  test('is started with its configuration, and says what it runs', async () => {
    const python = standIn(
      "if (message.kind === 'logprobs') send({ kind: 'error', id: message.id, code: 'seen', message: JSON.stringify(config) }); if (message.kind === 'configure') { config = message.config; send(ready); }",
      `const schema = ${schemaVersion}; let config;`,
    );
    const backbone = await start(python, { rayAddress: 'auto', numNodes: 2 });
    expect(backbone.workerInfo).toEqual({
      device: 'cpu',
      dtype: 'float32',
      numWorkers: 2,
      numParameters: 7,
      versions: { verl: '0.9.1' },
    });
    expect(backbone.capabilities.takes).toBe('rows');
    await expect(backbone.logprobs([])).rejects.toMatchObject({
      code: 'seen',
      message: expect.stringMatching(/"ray_address":"auto","num_nodes":2/) as unknown,
    });
    await backbone.close();
  });

  test('that finds other versions ends the start with both', async () => {
    const said =
      'The Python environment of a Ray worker has verl 0.8.0 instead of 0.9.1. `npm run setup:verl` installs the right versions';
    const python = standIn(`if (message.kind === 'configure') ${fail('version_mismatch', said)}`);
    await expect(start(python)).rejects.toMatchObject({ code: 'version_mismatch', message: said });
  });

  test('that finds no Ray ends the start with how to start it', async () => {
    const said = "There is no Ray cluster at verl.ray_address 'auto': Start it with `ray start --head`";
    const python = standIn(`if (message.kind === 'configure') ${fail('no_ray', said)}`);
    await expect(start(python)).rejects.toMatchObject({ code: 'no_ray', message: said });
  });

  test('that lacks a package says how to get an environment that has it', async () => {
    const python = standIn('', "console.error('ModuleNotFoundError: No module named msgpack'); process.exit(1);");
    await expect(start(python)).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringMatching(/named msgpack[^]*npm run setup:verl/) as unknown,
    });
  });

  test('of another release is refused with both versions', async () => {
    await expect(start(standIn('', 'const schema = 99;'))).rejects.toMatchObject({
      code: 'version_mismatch',
      message: expect.stringContaining('99') as unknown,
    });
  });

  test('that loses a worker rejects the step and every later call, and says how to resume the run', async () => {
    const said =
      'A verl worker was lost while it was to compute the gradient: ... resume the run from its last checkpoint (--resume).';
    const python = standIn(
      `if (message.kind === 'train_step') { ${fail('worker_died', said)} setTimeout(() => process.exit(1), 50); }`,
    );
    const backbone = await start(python);
    const waiting = backbone.logprobs([{ ids: Int32Array.of(1, 2) }]);
    await expect(Promise.allSettled([backbone.trainStep(sftBatch()), waiting])).resolves.toEqual([
      { status: 'rejected', reason: expect.objectContaining({ code: 'worker_died', message: said }) as unknown },
      { status: 'rejected', reason: expect.objectContaining({ code: 'worker_died', message: said }) as unknown },
    ]);
    await expect(backbone.save('/tmp/nowhere')).rejects.toMatchObject({ code: 'worker_died' });
    await backbone.close();
  });

  test('that Ray takes down with it shows its last lines', async () => {
    const python = standIn(
      "if (message.kind === 'train_step') { console.error('The raylet exited unexpectedly'); setTimeout(() => process.exit(1), 50); }",
    );
    const backbone = await start(python);
    await expect(backbone.trainStep(sftBatch())).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringMatching(/exited with code 1.*last checkpoint[^]*raylet exited/) as unknown,
    });
    await backbone.close();
  });
});
