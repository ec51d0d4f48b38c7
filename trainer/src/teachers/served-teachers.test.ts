import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Sample, Teacher } from '@agentjet/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askTeacher } from '../loop/ask-teacher.js';
import { createTinkerTeacher } from './tinker-teacher.js';
import { createVllmTeacher } from './vllm-teacher.js';

/** The scripted server gives the token `id` at position t the logprob -(id + t / 10). */
const logprobAt = (id: number, t: number): number => -(id + t / 10);

type Call = { readonly url: string; readonly headers: NodeJS.Dict<string | string[]>; readonly body: Body };
type Body = {
  readonly prompt: readonly number[] & { readonly chunks?: readonly { readonly tokens: readonly number[] }[] };
} & Record<string, unknown>;

let server: Server;
let baseUrl: string;
let calls: Call[];
/** Statuses of the next answers; the server answers normally if the list is empty. */
let statuses: number[];
let retryAfter: string | undefined;
let answerOf: (call: Call) => unknown;
/** The number of next answers that break off in the middle. */
let numBroken: number;

beforeEach(async () => {
  [calls, statuses, retryAfter, numBroken] = [[], [], undefined, 0];
  server = createServer((request, response) => {
    void text(request).then((asked) => {
      const call = { url: request.url ?? '', headers: request.headers, body: JSON.parse(asked || '{}') as Body };
      calls.push(call);
      const status = statuses.shift() ?? 200;
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(retryAfter && { 'retry-after': retryAfter }),
      });
      const answer = status === 200 ? answerOf(call) : { error: 'scripted' };
      const content = typeof answer === 'string' ? answer : JSON.stringify(answer);
      if (numBroken-- > 0) response.write(content.slice(0, 8), () => response.destroy());
      else if (content !== silence) response.end(content);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** With this answer, the server keeps the connection open and sends nothing. */
const silence = 'silence';

const sampleOf = (ids: readonly number[], more: Partial<Sample> = {}): Sample => ({
  episodeId: `e${ids.join()}`,
  agentName: 'agent',
  targetTag: 'agent',
  ids: Int32Array.from(ids),
  lossMask: Uint8Array.from(ids, (_, t) => (t >= 2 ? 1 : 0)),
  logprobs: new Float32Array(ids.length),
  policyVersions: new Int32Array(ids.length),
  advantages: new Float32Array(ids.length),
  ...more,
});

async function scoresOf(teacher: Teacher, samples: readonly Sample[]): Promise<number[][]> {
  const episodes = samples.map((sample) => ({ episodeId: sample.episodeId, reward: 0, samples: [sample] }));
  const groups = await askTeacher([{ groupId: 'g', episodes }], teacher, { temperature: 1, maxPackTokens: 64 });
  return groups.flatMap((group) => group.episodes.flatMap((e) => e.samples.map((s) => [...(s.teacherLogprobs ?? [])])));
}

const expected = (ids: readonly number[]): number[] => ids.map((id, t) => (t < 2 ? 0 : Math.fround(logprobAt(id, t))));

describe('a teacher of the completions of vLLM', () => {
  const create = () => createVllmTeacher({ baseUrl: `${baseUrl}/v1/`, apiKey: 'key', model: 'big', pauseMs: 1 });
  beforeEach(() => {
    answerOf = ({ body: { prompt } }) => ({
      choices: [
        {
          prompt_logprobs: prompt.map((id, t) =>
            t === 0 ? null : { 99: { logprob: -0.01 }, [id]: { logprob: logprobAt(id, t), decoded_token: `t${id}` } },
          ),
        },
      ],
    });
  });

  it('takes the prompt_logprobs of each row', async () => {
    const rows = [
      [1, 2, 3, 4],
      [1, 2, 7],
    ];
    expect(
      await scoresOf(
        create(),
        rows.map((ids) => sampleOf(ids)),
      ),
    ).toEqual(rows.map(expected));
    expect(calls.map(({ url, headers, body }) => [url, headers['authorization'], body['model']])).toEqual(
      rows.map(() => ['/v1/completions', 'Bearer key', 'big']),
    );
    expect(calls.map(({ body }) => body.prompt)).toEqual(rows);
  });

  it('asks again if the server is busy, and stops at a refusal', async () => {
    statuses = [503, 429];
    expect(await scoresOf(create(), [sampleOf([1, 2, 3])])).toEqual([expected([1, 2, 3])]);
    expect(calls).toHaveLength(3);
    statuses = [400];
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toMatchObject({
      code: 'teacher_refused',
      message: expect.stringContaining('status 400: {"error":"scripted"}'),
    });
    statuses = Array.from({ length: 8 }, () => 500);
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('waits as long as the server asks, and does not wait for hours', async () => {
    [statuses, retryAfter] = [[409, 425], '0'];
    expect(await scoresOf(create(), [sampleOf([1, 2, 3])])).toEqual([expected([1, 2, 3])]);
    [statuses, retryAfter] = [[429], '86400'];
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining(
        'in 1 attempt (last: status 429: {"error":"scripted"}; it asks to wait for 1440 m',
      ),
    });
    expect(calls).toHaveLength(4);
  });

  it('refuses an answer without logprobs, and tokens of another temperature', async () => {
    answerOf = () => ({ choices: [{ text: '' }] });
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toThrow('gave no prompt_logprobs for a row of 3');
    answerOf = () => ({ choices: [{ prompt_logprobs: [null, {}, { 4: { logprob: -1 } }] }] });
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toThrow('gave NaN as the logprob of token 3');
    const hot = sampleOf([1, 2, 3], { temperatures: Float32Array.of(0, 0, 0.5) });
    await expect(scoresOf(create(), [hot])).rejects.toThrow('sampled at temperature 0.5');
  });

  it('asks again if the server dies in the middle of an answer', async () => {
    numBroken = 2;
    expect(await scoresOf(create(), [sampleOf([1, 2, 3])])).toEqual([expected([1, 2, 3])]);
    expect(calls).toHaveLength(3);
    numBroken = 100;
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('does not wait for a silent server without an end, and says once that it waits', async () => {
    answerOf = () => silence;
    const notices: string[] = [];
    const onNotice = (message: string): void => void notices.push(message);
    const teacher = createVllmTeacher({ baseUrl, apiKey: null, model: 'big', pauseMs: 1, silenceMs: 20, onNotice });
    await expect(
      Promise.all([teacher.scorePrompt(Int32Array.of(1, 2)), teacher.scorePrompt(Int32Array.of(1, 3))]),
    ).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('in 8 attempts (last: no answer in 0.02 s)'),
    });
    expect(notices.filter((notice) => notice.includes('gave no answer in 0.02 s'))).toEqual([
      'The teacher big gave no answer in 0.02 s. The step waits while each row is sent up to 8 times.',
    ]);
  });

  it('waits for a server that has answered before, as long as an outage may take', async () => {
    const notices: string[] = [];
    const onNotice = (message: string): void => void notices.push(message);
    const options = { baseUrl: `${baseUrl}/v1`, apiKey: null, model: 'big', pauseMs: 1, onNotice };
    const down = (count: number): number[] => Array.from({ length: count }, () => 503);
    const patient = createVllmTeacher({ ...options, maxOutageMs: null });
    statuses = down(9);
    await expect(patient.scorePrompt(Int32Array.of(1, 2))).rejects.toThrow('did not answer in 8 attempts');
    statuses = [];
    await patient.scorePrompt(Int32Array.of(1, 2));
    statuses = down(10);
    expect(await scoresOf(patient, [sampleOf([1, 2, 3])])).toEqual([expected([1, 2, 3])]);
    expect(notices).toEqual([expect.stringContaining('does not answer (status 503')]);
    const hasty = createVllmTeacher({ ...options, maxOutageMs: 1 });
    await hasty.scorePrompt(Int32Array.of(1, 2));
    statuses = down(9);
    await expect(hasty.scorePrompt(Int32Array.of(1, 2))).rejects.toThrow('did not answer in 8 attempts');
  });

  it('refuses an answer with fewer logprobs than tokens', async () => {
    answerOf = () => ({ choices: [{ prompt_logprobs: [null, { 2: { logprob: -1 } }] }] });
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toThrow('gave 2 prompt_logprobs for a row of 3');
  });

  it.each([
    ['', 'gave NaN as the logprob of token 3'],
    [2, 'gave 2 as the logprob of token 3 at position 2 of a row of 3 tokens. A logprob is never above 0'],
  ])('refuses the logprob %j', async (logprob, message) => {
    answerOf = () => ({ choices: [{ prompt_logprobs: [null, {}, { 3: { logprob } }] }] });
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toThrow(message);
  });

  it('takes a logprob that rounding put above 0 for 0', async () => {
    answerOf = () => ({ choices: [{ prompt_logprobs: [null, {}, { 3: { logprob: 0.004 } }] }] });
    expect(await scoresOf(create(), [sampleOf([1, 2, 3])])).toEqual([[0, 0, 0]]);
  });

  it.each([
    ['{"choices": [{"prompt_logprobs": [null, {"2": {"logprob": NaN}}]}]}', 'a logprob that is not a number (NaN'],
    ['<html>busy</html>', 'an answer that is not JSON: <html>busy</html>. teacher.base_url names the API'],
  ])('names what is wrong with the answer %s', async (answer, message) => {
    answerOf = () => answer;
    await expect(scoresOf(create(), [sampleOf([1, 2, 3])])).rejects.toThrow(`The teacher big gave ${message}`);
  });

  it('ends its requests when it is closed', async () => {
    const teacher = create();
    await teacher.close();
    await expect(teacher.scorePrompt(Int32Array.of(1, 2))).rejects.toThrow('abort');
    expect(calls).toHaveLength(0);
  });
});

describe('a teacher of the Tinker API', () => {
  beforeEach(() => {
    answerOf = ({ url, body: { prompt } }) => {
      if (url.endsWith('/create_session')) return { session_id: 's' };
      if (url.endsWith('/create_sampling_session')) return { sampling_session_id: 'sampler' };
      const ids = prompt.chunks?.flatMap(({ tokens }) => tokens) ?? [];
      return { sequences: [], prompt_logprobs: ids.map((id, t) => (t === 0 ? null : logprobAt(id, t))) };
    };
  });

  it('takes the prompt_logprobs of each row', async () => {
    const teacher = await createTinkerTeacher({ baseUrl, apiKey: 'key', model: 'org/big' });
    expect(await scoresOf(teacher, [sampleOf([1, 2, 3, 4])])).toEqual([expected([1, 2, 3, 4])]);
    await teacher.close();
    expect(calls[1]?.body).toEqual({ session_id: 's', sampling_session_seq_id: 1, base_model: 'org/big' });
    expect(calls[2]?.body).toMatchObject({ sampling_session_id: 'sampler', prompt_logprobs: true, num_samples: 1 });
  });

  it('samples from weights at a path, and refuses a server without prompt logprobs', async () => {
    const teacher = await createTinkerTeacher({ baseUrl, apiKey: null, model: 'tinker://run/weights/1' });
    expect(calls[1]?.body).toMatchObject({ model_path: 'tinker://run/weights/1' });
    answerOf = () => ({ sequences: [] });
    await expect(scoresOf(teacher, [sampleOf([1, 2, 3])])).rejects.toThrow('gave no prompt_logprobs');
    await teacher.close();
  });
});
