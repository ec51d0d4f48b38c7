import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { describe, expect, test } from 'vitest';

import { schemaVersion } from '../python-worker/messages.js';
import { hasTorch, makeTinyModel, sftBatch, startTiny, testPython } from './testing-worker.js';

const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 100, stopIds: [], seed: 7 };

/** Makes a package folder whose `ajet_torch.worker` is the given Python. These workers misbehave on purpose. */
function makeRogueWorker(body: string): Readonly<Record<string, string>> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'ajet-rogue-'));
  mkdirSync(path.join(dir, 'rogue'));
  const hello = [
    'import os, socket, struct, sys, time, msgpack',
    'host, port = os.environ["AJET_CONNECT"].rsplit(":", 1)',
    's = socket.create_connection((host, int(port)))',
  ];
  const send = ['def send(m):', '    b = msgpack.packb(m)', '    s.sendall(struct.pack(">I", len(b)) + b)'];
  writeFileSync(
    path.join(dir, 'sitecustomize.py'),
    [
      'import sys',
      'if "ajet_torch.worker" in " ".join(sys.orig_argv):',
      ...[...hello, ...send, ...body.split('\n')].map((line) => `    ${line}`),
      '    sys.exit(3)',
    ].join('\n'),
  );
  return { PYTHONPATH: dir };
}

/** Makes the real worker start with these statements, after the module `name` is loaded as `module`. */
function patchWorker(name: string, ...statements: readonly string[]): Readonly<Record<string, string>> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'ajet-patched-'));
  writeFileSync(
    path.join(dir, 'sitecustomize.py'),
    [
      'import importlib.util, sys',
      'class Patch:',
      '    def find_spec(self, name, path=None, target=None):',
      `        if name != "${name}":`,
      '            return None',
      '        sys.meta_path.remove(self)',
      '        spec = importlib.util.find_spec(name)',
      '        load = spec.loader.exec_module',
      '        def load_patched(module):',
      '            load(module)',
      ...statements.map((statement) => `            ${statement}`),
      '        spec.loader.exec_module = load_patched',
      '        return spec',
      'sys.meta_path.insert(0, Patch())',
    ].join('\n'),
  );
  return { PYTHONPATH: dir };
}

describe.skipIf(!hasTorch)('a torch worker in trouble', () => {
  test('that is killed rejects every waiting and later call, and the run resumes from its checkpoint', async () => {
    const modelDir = await makeTinyModel();
    const dir = path.join(mkdtempSync(path.join(os.tmpdir(), 'ajet-resume-')), 'checkpoint');
    // A process that the worker started keeps its output open after the worker has ended.
    const start = 'import subprocess; subprocess.Popen(["sleep", "100"])';
    const first = await startTiny(modelDir, { env: patchWorker('ajet_torch.session', start) });
    await first.trainStep(sftBatch());
    await first.save(dir);
    const expected = await first.trainStep(sftBatch());
    const waiting = [1, 2, 3].map((seed) =>
      first.engine.generate({ promptIds: Int32Array.of(1, 2), sampling: { ...sampling, seed } }),
    );
    const outcomes = Promise.allSettled(waiting);
    const killedAt = performance.now();
    process.kill(first.workerPid, 'SIGKILL');
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'worker_died', message: expect.stringContaining('SIGKILL') as unknown },
      });
    expect(performance.now() - killedAt).toBeLessThan(10_000);
    expect(first.gone?.reason).toMatchObject({ code: 'worker_died' });
    await expect(first.trainStep(sftBatch())).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringContaining('last checkpoint') as unknown,
    });
    await first.close();

    const second = await startTiny(modelDir);
    await second.load(dir);
    expect(second.policyVersion).toBe(1);
    expect(await second.trainStep(sftBatch())).toMatchObject({
      loss: expected.loss,
      gradNorm: expected.gradNorm,
      policyVersion: 2,
    });
    await second.close();
  });

  test('that runs out of memory while it samples says what to turn down, and is gone', async () => {
    const fail = 'def fail(*_): raise MemoryError("Tried to allocate 3.75 GiB.")';
    const env = patchWorker('ajet_torch.sampling.builtin', fail, 'module.BuiltinServer._fill = fail');
    const backbone = await startTiny(await makeTinyModel(), { env });
    expect(backbone.gone?.aborted).toBe(false);
    const request = { promptIds: Int32Array.of(1, 2), sampling };
    const expected = {
      code: 'out_of_memory',
      message: expect.stringMatching(
        /^The torch worker ended\. .* during the task sampling: Tried to allocate 3\.75 GiB\. .*rollout\.max_num_seqs.*--resume\.$/,
      ) as unknown,
    };
    await expect(backbone.engine.generate(request)).rejects.toMatchObject(expected);
    expect(backbone.gone?.reason).toMatchObject(expected);
    await expect(backbone.engine.generate(request)).rejects.toMatchObject(expected);
    await backbone.close();
  });

  test('that stops answering is noticed by its heartbeat and ended', async () => {
    const backbone = await startTiny(await makeTinyModel(), { heartbeatTimeoutMs: 3000 });
    process.kill(backbone.workerPid, 'SIGSTOP');
    const call = backbone.logprobs([{ ids: Int32Array.of(1, 2, 3) }]);
    await expect(call).rejects.toMatchObject({
      code: 'worker_hung',
      message: expect.stringContaining('sent no message for') as unknown,
    });
    await backbone.close();
  });

  test('that dies while it starts shows its last log lines', async () => {
    const env = makeRogueWorker('print("no room on /dev/shm", file=sys.stderr)');
    await expect(startTiny(await makeTinyModel(), { env })).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringContaining('no room on /dev/shm') as unknown,
    });
  });

  test('whose interpreter lacks a package says how to get one that does not', async () => {
    const env = makeRogueWorker('print("ModuleNotFoundError: No module named numpy", file=sys.stderr)');
    await expect(startTiny(await makeTinyModel(), { env })).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringMatching(/named numpy[^]*npm run setup:torch/) as unknown,
    });
  });

  test('of another release is refused with both versions', async () => {
    const env = makeRogueWorker(
      'send({"kind": "hello", "schema": 99, "token": os.environ["AJET_TOKEN"]})\ntime.sleep(20)',
    );
    await expect(startTiny(await makeTinyModel(), { env })).rejects.toMatchObject({
      code: 'version_mismatch',
      message: expect.stringContaining('99') as unknown,
    });
  });

  test('that talks nonsense is ended, not believed', async () => {
    const env = makeRogueWorker(
      `send({"kind": "hello", "schema": ${schemaVersion}, "token": os.environ["AJET_TOKEN"]})\ns.recv(1 << 20)\nsend([1, 2, 3])\ntime.sleep(20)`,
    );
    await expect(startTiny(await makeTinyModel(), { env })).rejects.toMatchObject({ code: 'protocol' });
  });

  test('that never connects is given up after the start timeout', async () => {
    const env = makeRogueWorker('time.sleep(60)');
    await expect(startTiny(await makeTinyModel(), { env, startTimeoutMs: 1500 })).rejects.toMatchObject({
      code: 'worker_hung',
    });
    expect(testPython).toContain('python');
  });
});
