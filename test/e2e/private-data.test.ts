import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { startLoopbackHub, type LoopbackHub } from '@agentjet/model-hub/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { onlyRun } from './support/read-run.js';
import { runAjet, type Finished } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

const token = 'hf_abcdefghijklmnopqrstuvwxyz012345';
const id = 'acme/secret';
const scratch = createScratchFolder();
const rows = (from: number, count: number): Uint8Array =>
  Buffer.from(Array.from({ length: count }, (_, at) => `{"question": "Say ${from + at}"}\n`).join(''));
const files = { 'data/train-00000-of-00001.jsonl': rows(0, 6), 'data/test-00000-of-00001.jsonl': rows(90, 2) };

let hub: LoopbackHub;
let storage: LoopbackHub;
let modelDir = '';
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(scratch, 'model'));
  storage = await startLoopbackHub({ kind: 'dataset', id, files });
  // Sends readers to a storage at another address, as the real hub does.
  hub = await startLoopbackHub({ kind: 'dataset', id, files, privateTo: token, contentAt: storage.endpoint });
});
afterAll(async () => {
  await hub.close();
  await storage.close();
});

type Ran = { readonly folder: string; readonly home: string; readonly ended: Finished };

async function train(env: NodeJS.ProcessEnv): Promise<Ran> {
  const home = createScratchFolder();
  const folder = createJobFolder(
    modelDir,
    {},
    {
      task_reader: {
        type: 'huggingface_dat_repo',
        huggingface_dat_repo: {
          dataset_path: id,
          training_split: 'train',
          validation_split: 'test',
          fields: { main_query: 'question' },
        },
      },
      trainer_common: { total_training_steps: 1, save_freq: 1 },
    },
  );
  const variables = { HF_ENDPOINT: hub.endpoint, HF_HOME: home, HF_TOKEN: '', ...env };
  return { folder, home, ended: await runAjet(folder, ['--conf', 'job.yaml'], { env: variables }) };
}

/** Returns files below a folder that contain the string. */
function filesWith(folder: string, text: string): readonly string[] {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return all
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}

it('reads a private data set with a token that only the hub sees', async () => {
  const { folder, home, ended } = await train({ HF_TOKEN: token });
  expect(ended).toMatchObject({ code: 0 });
  const card = JSON.parse(readFileSync(path.join(onlyRun(folder), 'tasks.json'), 'utf8')) as object;
  expect(card).toMatchObject({ training: { tasks: 6 }, evaluation: { tasks: 2 } });
  expect(new Set(hub.authorizations)).toEqual(new Set([`Bearer ${token}`]));
  expect(storage.authorizations.length).toBeGreaterThan(0);
  expect(new Set(storage.authorizations)).toEqual(new Set([undefined]));
  expect(ended.stdout + ended.stderr).not.toContain(token);
  expect([...filesWith(folder, token), ...filesWith(home, token)]).toEqual([]);
  expect(filesWith(folder, 'acme/secret')).not.toEqual([]); // proves that the search finds an existing string
});

it.each([
  ['no token', '', /There is no data set acme\/secret at .*, or it is private\. .*set HF_TOKEN/],
  [
    'another token',
    'hf_another_token_0123456789',
    /acme\/secret does not accept the token, or there is no such data set/,
  ],
  ['a broken token', 'hf_broken\ntoken_0123456789', /has a space or a character that no token has/],
])('says what is wrong with %s, and does not show it', async (_, given, message) => {
  const { folder, ended } = await train({ HF_TOKEN: given });
  const said = ended.stdout + ended.stderr;
  expect(ended.code).not.toBe(0);
  expect(said.replaceAll(/\s+/g, ' ')).toMatch(message);
  expect(said).not.toContain('token_0123456789');
  expect(filesWith(folder, 'token_0123456789')).toEqual([]);
});
