import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BackboneError, type Backbone } from '@agentjet/core';
import type { BackboneEntry } from '@agentjet/inputs';
import { createConfig } from '@agentjet/inputs/testing';
import type { JobEvent, JobListener } from '@agentjet/records';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { writeTensorsInPieces, type PlannedTensor } from '@agentjet/trainer/model-files';
import { backbones } from '@agentjet/trainer/registrations';
import { adamOptions } from '@agentjet/trainer/testing';
import { checkModel } from '../check-model.js';
import { openBackbone } from './open-backbone.js';
import { openTeacher } from './open-teacher.js';
import { requireSameVocabulary } from './same-vocabulary.js';
import { bundledModelDirs } from '../sources/known-models.js';

const { nano } = bundledModelDirs;
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Copies nano with another tokenizer.json or config.json. */
function copyOf(file: string, change: (content: Readonly<Record<string, unknown>>) => unknown): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'teacher-'));
  folders.push(dir);
  cpSync(nano, dir, { recursive: true });
  const content = JSON.parse(readFileSync(path.join(nano, file), 'utf8')) as Readonly<Record<string, unknown>>;
  writeFileSync(path.join(dir, file), JSON.stringify(change(content)));
  return dir;
}

type Change = Parameters<typeof createConfig>[0];

const chatTokenizer = await loadChatTokenizer(nano);
type Opening = { readonly needsTeacher?: boolean; readonly entry?: BackboneEntry; readonly emit?: JobListener };
const open = (config: Change, { needsTeacher = true, entry = backbones[0], emit = () => undefined }: Opening = {}) =>
  openTeacher(createConfig(config), {
    algorithm: { name: 'distill', needsTeacher },
    backbone: entry,
    modelDir: nano,
    chatTokenizer,
    emit,
  });

const estimate = (config: Change): Promise<unknown> =>
  checkModel('nano', { config: createConfig(config), onNotice: () => undefined });

const scoring = (more: object): BackboneEntry =>
  ({
    name: 'scripted',
    open: async () => ({ capabilities: { takes: 'packs' }, close: async () => undefined, ...more }) as Backbone,
  }) as unknown as BackboneEntry;

describe('openTeacher', () => {
  it('says in its errors that the teacher failed, and not the student', async () => {
    const process = new AbortController();
    const ended = new BackboneError('worker_died', 'The worker ended.');
    const entry = scoring({ termLogprobs: () => Promise.reject(ended), gone: process.signal });
    const teacher = await open({ teacher: { model: 'nano' } }, { entry });
    const expected = {
      code: 'worker_died',
      message: expect.stringMatching(/^The model that scores the samples .*failed\. The worker ended\.$/),
    };
    await expect(teacher?.termLogprobs([], 1)).rejects.toMatchObject(expected);
    process.abort(ended);
    expect(teacher?.gone?.reason).toMatchObject(expected);
  });

  it('opens nothing for an algorithm without a teacher', async () => {
    expect(await open({ teacher: { model: 'nano' } }, { needsTeacher: false })).toBeUndefined();
  });

  it('opens the model with the backbone of the student, and without its adapter or its other sampler', async () => {
    const opened: unknown[] = [];
    const entry = scoring({ termLogprobs: async () => [] });
    const spied = {
      ...entry,
      open: (section: never, parts: never) => (opened.push(parts), entry.open(section, parts)),
    };
    const config: Change = {
      backbone: 'torch',
      teacher: { model: 'nano' },
      lora: { rank: 8 },
      rollout: { name: 'vllm' },
    };
    expect(await open(config, { entry: spied })).toMatchObject({ takes: 'packs' });
    expect(opened).toMatchObject([
      { modelDir: nano, config: { lora: { rank: 0 }, rollout: { name: 'builtin' }, model: { path: nano } } },
    ]);
    expect(opened[0]).not.toHaveProperty('optimizer');
  });

  it.each([0, 16])('opens the teacher in the format of frozen weights with lora.rank %i', async (rank) => {
    const change = { teacher: { model: 'nano' }, lora: { rank }, onnx: { frozenWeights: 'int8' } } as const;
    const notices = (events: readonly JobEvent[]): readonly string[] =>
      events.flatMap((event) => (event.type === 'notice' ? [event.message.split('(')[0] ?? ''] : []));
    const [ofTeacher, ofStudent]: [JobEvent[], JobEvent[]] = [[], []];
    const [entry] = backbones;
    const teacher = await open(change, { emit: (event) => ofTeacher.push(event) });
    const student = await openBackbone(entry, createConfig(change), {
      emit: (event) => ofStudent.push(event),
      modelDir: nano,
      optimizer: adamOptions(1e-3),
    });
    expect(student.capabilities.repeatsSeed).toBe(rank === 0);
    expect(notices(ofStudent)).toEqual(rank === 0 ? [] : ['The weights are in int8 ']);
    expect(notices(ofTeacher)).toEqual(['The weights are in int8 ']);
    await Promise.all([student.close(), teacher?.close?.()]);
  });

  it('refuses a backbone that cannot score token trees', async () => {
    await expect(open({ teacher: { model: 'nano' } }, { entry: scoring({}) })).rejects.toThrow(
      'The backbone scripted cannot open a model that only scores',
    );
  });

  it.each([
    ['a sampler that cuts distributions', { rollout: { topP: 0.9 } }, '"rollout.top_p" is 0.9'],
    [
      'a model with other tokens',
      { teacher: { model: 'micro' } },
      'The teacher micro has another vocabulary than nano',
    ],
    ['a name without a model', { teacher: { model: 'nanno' } }, 'There is no model folder nanno (teacher.model)'],
  ])('refuses %s', async (_, change: Change, message) => {
    await expect(open({ teacher: { model: 'nano' }, ...change })).rejects.toThrow(message);
    if (change?.teacher !== undefined) await expect(estimate(change)).rejects.toThrow(message);
  });

  it('refuses a folder that holds no whole model, and says which file is missing, as does the estimate', async () => {
    const without = (file: string): string => {
      const dir = copyOf('config.json', (config) => config);
      rmSync(path.join(dir, file));
      return dir;
    };
    const [blind, mute] = [without('config.json'), without('tokenizer.json')];
    await expect(open({ teacher: { model: mute } })).rejects.toThrow(`${path.join(mute, 'tokenizer.json')} is missing`);
    const ofConfig = `${path.join(blind, 'config.json')} (teacher.model) is missing`;
    await expect(open({ teacher: { model: blind } })).rejects.toThrow(ofConfig);
    await expect(estimate({ teacher: { model: blind } })).rejects.toThrow(ofConfig);
    const settings = { peft_type: 'LORA', r: 1, lora_alpha: 1, base_model_name_or_path: nano };
    writeFileSync(path.join(blind, 'adapter_config.json'), JSON.stringify(settings));
    const pair = ['A', 'B'].map((half): PlannedTensor => {
      const pieces = (): readonly Uint8Array[] => [new Uint8Array(4)];
      return { name: `m.lora_${half}.weight`, shape: [1, 1], dtype: 'F32', pieces };
    });
    await writeTensorsInPieces(path.join(blind, 'adapter_model.safetensors'), pair);
    const ofAdapter = `teacher.model ${blind} is an adapter (LoRA) of ${nano}`;
    await expect(open({ teacher: { model: blind } })).rejects.toThrow(ofAdapter);
    await expect(estimate({ teacher: { model: blind } })).rejects.toThrow(ofAdapter);
  });

  it('refuses a teacher with a shorter context than samples may have', async () => {
    const model = copyOf('config.json', (config) => ({ ...config, max_position_embeddings: 64 }));
    const message = /Samples may have \d+ tokens .* reads at most 64/;
    await expect(open({ teacher: { model } })).rejects.toThrow(message);
    await expect(estimate({ teacher: { model } })).rejects.toThrow(message);
  });
});

it('accepts a teacher with more tokens, and refuses one with fewer', async () => {
  const wider = copyOf('tokenizer.json', (tokenizer) => ({
    ...tokenizer,
    added_tokens: [...(tokenizer['added_tokens'] as readonly object[]), { id: 99_999, content: '<more>' }],
  }));
  const [own, other] = [
    { name: 'nano', dir: nano },
    { name: 'wider', dir: wider },
  ];
  await requireSameVocabulary(own, other);
  await expect(requireSameVocabulary(other, own)).rejects.toThrow(
    'token 99999 is "<more>" for the student, and the teacher has no such token',
  );
});

describe('a served teacher', () => {
  const serve = async (textOf: (id: number) => string | undefined): Promise<string> => {
    const server = createServer((request, response) => {
      void json(request).then((body) => {
        const { prompt } = body as { readonly prompt: readonly number[] };
        const entryOf = (id: number) => ({ [id]: { logprob: -1, decoded_token: textOf(id) } });
        const entries = prompt.map((id, t) => (t === 0 ? null : entryOf(id)));
        response.end(JSON.stringify({ choices: [{ prompt_logprobs: entries }] }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  };

  it('is accepted if its server decodes the tokens as the student does, and refused otherwise', async () => {
    const same = await serve((id) => chatTokenizer.tokenizer.decode([id]));
    const teacher = await open({ teacher: { model: 'big', baseUrl: same } });
    expect(teacher).toMatchObject({ takes: 'rows' });
    await teacher?.close();
    const other = await serve((id) => `t${id}`);
    await expect(open({ teacher: { model: 'big', baseUrl: other } })).rejects.toThrow(
      /The teacher big has another vocabulary than model.path: token \d+ is ".*" for the student, and "t\d+"/,
    );
  });

  it('is accepted with a notice if its server does not say what its tokens are', async () => {
    const baseUrl = await serve(() => undefined);
    const notices: unknown[] = [];
    const teacher = await open({ teacher: { model: 'big', baseUrl } }, { emit: (event) => notices.push(event) });
    await teacher?.close();
    expect(notices).toEqual([
      { type: 'notice', message: expect.stringContaining('big must have the vocabulary of model.path') },
    ]);
  });

  it('is refused for another temperature than 1', async () => {
    const config = { teacher: { model: 'big', baseUrl: 'http://127.0.0.1:9' }, rollout: { temperature: 0.7 } };
    await expect(open(config)).rejects.toThrow('"rollout.temperature" is 0.7');
  });
});
