/**
 * These cases hold for every Engine. Each case opens a new engine, and all engines must have the same weights. No token
 * may be so likely that different seeds give the same tokens, so use a model with random weights, for example.
 */

import assert from 'node:assert/strict';
import { createRandom, EngineError } from '@agentjet/core';
import type { AgentJetError, Completion, Engine, GenerateRequest, TokenSampling } from '@agentjet/core';
import { withOpened } from './contract-case.js';
import type { ContractCase } from './contract-case.js';

export type EngineSubject = { readonly engine: Engine; readonly vocabSize: number; close(): Promise<void> };

export type EngineCaseOptions = {
  /**
   * Whether the backbone declares that a seed gives the same tokens again. Defaults to true. If false, the cases that
   * compare two calls with one seed are skipped.
   */
  readonly repeatsSeed?: boolean;
  /** The largest difference between the logprobs of one computation in two batches. Defaults to 1e-4. */
  readonly tolerance?: number;
};

const plain: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 8, stopIds: [], seed: 1 };

/** Run each case with your test runner: `for (const { name, run } of engineCases(open)) it(name, run)`. */
export function engineCases(
  open: () => Promise<EngineSubject>,
  options: EngineCaseOptions = {},
): readonly ContractCase[] {
  const tolerance = options.tolerance ?? 1e-4;
  const named = (name: string, use: (subject: EngineSubject) => Promise<void>): ContractCase => ({
    name,
    run: () => withOpened(open, use),
  });
  const { repeatsSeed = true } = options;
  const ifRepeated = (...cases: readonly ContractCase[]) => (repeatsSeed ? cases : []);
  return [
    named('gives as many logprobs as ids, all of them possible', checkShape),
    ...ifRepeated(
      named('gives the same tokens for a seed, alone and among others', (subject) => checkSeeds(subject, tolerance)),
    ),
    named('draws differently with other seeds', checkOtherSeeds),
    named('takes the likeliest token when greedy, for any seed', (subject) => checkGreedy(subject, tolerance)),
    named('draws only from what top-k and top-p leave, with the logprob in it', checkNarrow),
    ...ifRepeated(named('ends with the stop id in the completion', checkStopIds)),
    named('ends at maxTokens, and where the context ends', checkLength),
    named('refuses a wrong request, to its caller alone', checkRefusals),
    named('reports each token in order, and ends where onToken says stop', (subject) =>
      checkStreaming(subject, repeatsSeed),
    ),
    named('says where the time of a call went, if it says it', checkTiming),
    named('rejects an aborted call at once and serves the others', checkAbort),
    named('serves many calls of many kinds at once', checkMany),
    ...ifRepeated(
      named('changes nothing when a conversation continues', (subject) => checkContinuation(subject, open, tolerance)),
    ),
    named('rejects what is under way when it closes, and what comes after', checkClose),
  ];
}

function request(
  subject: EngineSubject,
  length: number,
  seed: number,
  sampling: Partial<TokenSampling> = {},
): GenerateRequest {
  const random = createRandom(seed);
  const promptIds = Int32Array.from({ length }, () => random.int(subject.vocabSize));
  return { promptIds, sampling: { ...plain, seed, ...sampling } };
}

async function checkShape(subject: EngineSubject): Promise<void> {
  const { ids, logprobs, finishReason, policyVersion } = await subject.engine.generate(request(subject, 5, 1));
  assert.ok(
    ids instanceof Int32Array && logprobs instanceof Float32Array,
    'ids are an Int32Array, logprobs a Float32Array',
  );
  assert.equal(ids.length, 8);
  assert.equal(logprobs.length, ids.length);
  assert.ok(
    ids.every((id) => id >= 0 && id < subject.vocabSize),
    `ids in the vocabulary: ${ids}`,
  );
  assert.ok(
    logprobs.every((logprob) => logprob <= 0 && Number.isFinite(logprob)),
    `finite logprobs of at most 0: ${logprobs}`,
  );
  assert.equal(finishReason, 'length');
  assert.ok(Number.isInteger(policyVersion));
}

async function checkSeeds(subject: EngineSubject, tolerance: number): Promise<void> {
  const wanted = request(subject, 9, 4);
  const alone = await subject.engine.generate(wanted);
  const others = Array.from({ length: 7 }, (_, index) =>
    subject.engine.generate(request(subject, 3 + 5 * index, index)),
  );
  const among = await subject.engine.generate(wanted);
  await Promise.all(others);
  assertSame(among, alone, tolerance);
}

async function checkOtherSeeds(subject: EngineSubject): Promise<void> {
  const prompt = request(subject, 6, 2);
  const texts = new Set<string>();
  for (let seed = 0; seed < 6; seed += 1)
    texts.add(`${(await subject.engine.generate({ ...prompt, sampling: { ...plain, seed } })).ids}`);
  assert.ok(texts.size > 1, 'six seeds gave one and the same completion');
}

async function checkGreedy(subject: EngineSubject, tolerance: number): Promise<void> {
  const prompt = request(subject, 6, 3);
  const [first, second] = await Promise.all(
    [1, 2].map((seed) => subject.engine.generate({ ...prompt, sampling: { ...plain, temperature: 0, seed } })),
  );
  const onlyBest = await subject.engine.generate({ ...prompt, sampling: { ...plain, topK: 1 } });
  assert.ok(first !== undefined && second !== undefined);
  assertSame(second, first, tolerance);
  assert.deepEqual(onlyBest.ids, first.ids);
  assert.ok(
    onlyBest.logprobs.every((logprob) => Math.abs(logprob) < tolerance),
    'a choice of one has logprob 0',
  );
}

async function checkNarrow(subject: EngineSubject): Promise<void> {
  const prompt = request(subject, 6, 5, { maxTokens: 1 });
  for (const limits of [{ topK: 2 }, { topP: 0.3 }, { topK: 3, topP: 0.7 }]) {
    const shares = new Map<number, number>();
    for (let seed = 0; seed < 24; seed += 1) {
      const { ids, logprobs } = await subject.engine.generate({
        ...prompt,
        sampling: { ...prompt.sampling, ...limits, seed },
      });
      shares.set(ids[0] ?? -1, Math.exp(logprobs[0] ?? NaN));
    }
    const mass = [...shares.values()].reduce((total, share) => total + share, 0);
    assert.ok(
      shares.size <= (limits.topK ?? subject.vocabSize),
      `${shares.size} different tokens with topK ${limits.topK}`,
    );
    assert.ok(mass <= 1 + 1e-3, `the drawn tokens have a mass of ${mass} together`);
  }
}

async function checkStopIds(subject: EngineSubject): Promise<void> {
  const prompt = request(subject, 6, 6);
  const free = await subject.engine.generate(prompt);
  const stopId = free.ids[3] ?? -1;
  const stopped = await subject.engine.generate({ ...prompt, sampling: { ...prompt.sampling, stopIds: [stopId] } });
  assert.equal(stopped.finishReason, 'stop');
  assert.deepEqual(stopped.ids, free.ids.slice(0, free.ids.indexOf(stopId) + 1));
}

async function checkLength(subject: EngineSubject): Promise<void> {
  const { contextLength } = subject.engine;
  const short = await subject.engine.generate(request(subject, 4, 7, { maxTokens: 3 }));
  assert.deepEqual([short.ids.length, short.finishReason], [3, 'length']);
  const full = await subject.engine.generate(request(subject, contextLength - 2, 8));
  assert.deepEqual([full.ids.length, full.finishReason], [2, 'length']);
}

async function checkRefusals(subject: EngineSubject): Promise<void> {
  const { engine, vocabSize } = subject;
  const fine = engine.generate(request(subject, 5, 9));
  const good = request(subject, 5, 9);
  const wrong: readonly (readonly [string, Partial<GenerateRequest>])[] = [
    ['context_overflow', { promptIds: new Int32Array(engine.contextLength) }],
    ['context_overflow', { promptIds: new Int32Array(engine.contextLength + 100) }],
    ['bad_request', { promptIds: new Int32Array(0) }],
    ['bad_request', { promptIds: Int32Array.of(0, vocabSize) }],
    ['bad_request', { promptIds: Int32Array.of(-1) }],
    ['bad_request', { sampling: { ...plain, temperature: -0.5 } }],
    ['bad_request', { sampling: { ...plain, topP: 0 } }],
    ['bad_request', { sampling: { ...plain, maxTokens: 0 } }],
  ];
  for (const [code, change] of wrong) await assertRejects(engine.generate({ ...good, ...change }), code);
  assert.equal((await fine).ids.length, 8);
}

async function checkStreaming(subject: EngineSubject, repeatsSeed: boolean): Promise<void> {
  const prompt = request(subject, 5, 10);
  const seen: number[] = [];
  const logprobs: number[] = [];
  const onToken = (id: number, logprob: number): undefined => {
    seen.push(id);
    logprobs.push(logprob);
  };
  const whole = await subject.engine.generate({ ...prompt, onToken });
  assert.deepEqual(seen, [...whole.ids]);
  assert.deepEqual(logprobs, [...whole.logprobs]);
  const heard: number[] = [];
  const stopAtThird = (id: number) => (heard.push(id) === 3 ? 'stop' : undefined);
  const cut = await subject.engine.generate({ ...prompt, onToken: stopAtThird });
  assert.deepEqual([...cut.ids], heard);
  if (repeatsSeed) assert.deepEqual(cut.ids, whole.ids.slice(0, 3));
  assert.deepEqual([cut.logprobs.length, cut.finishReason, heard.length], [3, 'stop', 3]);
  assert.equal(cut.policyVersion, whole.policyVersion);
}

async function checkTiming(subject: EngineSubject): Promise<void> {
  const { timing } = await subject.engine.generate(request(subject, 6, 3));
  for (const [part, ms] of Object.entries(timing ?? {})) assert.ok(ms >= 0 && Number.isFinite(ms), `${part} is ${ms}`);
}

async function checkAbort(subject: EngineSubject): Promise<void> {
  const { engine } = subject;
  const long = { maxTokens: engine.contextLength };
  await assertRejects(engine.generate({ ...request(subject, 4, 1), signal: AbortSignal.abort() }), 'aborted');
  const running = new AbortController();
  const waiting = new AbortController();
  const others = Array.from({ length: 5 }, (_, seed) => engine.generate(request(subject, 6, seed)));
  const abortAtFirst = (): undefined => running.abort() as undefined;
  const first = engine.generate({ ...request(subject, 4, 2, long), signal: running.signal, onToken: abortAtFirst });
  const second = engine.generate({ ...request(subject, 4, 3, long), signal: waiting.signal });
  waiting.abort(new Error('the episode is over'));
  await assertRejects(second, 'aborted');
  await assertRejects(first, 'aborted');
  for (const completion of await Promise.all(others)) assert.equal(completion.ids.length, 8);
}

async function checkMany(subject: EngineSubject): Promise<void> {
  const calls = Array.from({ length: 40 }, (_, index) =>
    request(subject, 1 + ((index * 7) % 23), index, {
      maxTokens: 1 + (index % 9),
      temperature: index % 3,
      topK: index % 4,
      topP: index % 2 === 0 ? 1 : 0.9,
    }),
  );
  const completions = await Promise.all(calls.map((call) => subject.engine.generate(call)));
  for (const [index, { ids, logprobs }] of completions.entries()) {
    assert.equal(ids.length, calls[index]?.sampling.maxTokens);
    assert.ok(logprobs.every((logprob) => logprob <= 0));
  }
}

/**
 * Makes the calls of a conversation turn by turn, so the engine can reuse earlier values. Compares the result with that
 * of a new engine that gets only the last call.
 */
async function checkContinuation(
  subject: EngineSubject,
  open: () => Promise<EngineSubject>,
  tolerance: number,
): Promise<void> {
  let turn = request(subject, 5, 11);
  for (let count = 0; count < 3; count += 1) {
    const { ids } = await subject.engine.generate(turn);
    turn = {
      ...turn,
      promptIds: Int32Array.from([...turn.promptIds, ...ids, count]),
      sampling: { ...plain, seed: 20 + count },
    };
  }
  const last = await subject.engine.generate(turn);
  await withOpened(open, async (fresh) => assertSame(await fresh.engine.generate(turn), last, tolerance));
}

async function checkClose(subject: EngineSubject): Promise<void> {
  const running = subject.engine.generate(request(subject, 4, 12, { maxTokens: subject.engine.contextLength }));
  const outcome = assertRejects(running, 'closed');
  await subject.close();
  await outcome;
  await assertRejects(subject.engine.generate(request(subject, 4, 12)), 'closed');
}

function assertSame(actual: Completion, expected: Completion, tolerance: number): void {
  assert.deepEqual([...actual.ids], [...expected.ids]);
  for (const [index, logprob] of expected.logprobs.entries()) assertClose(actual.logprobs[index], logprob, tolerance);
}

/** Compares numbers that may differ by rounding. */
export function assertClose(actual: number | undefined, expected: number | undefined, tolerance: number): void {
  assert.ok(
    Math.abs((actual ?? NaN) - (expected ?? NaN)) <= tolerance,
    `${actual} is not within ${tolerance} of ${expected}`,
  );
}

/** Expects an AgentJet error with that code and a readable message. */
export async function assertRejects(
  promise: Promise<unknown>,
  code: string,
  type: typeof AgentJetError = EngineError,
): Promise<void> {
  const outcome = await promise.then(
    () => 'it resolved',
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof type, `expected an error of code ${code}: ${String(outcome)}`);
  assert.equal(outcome.code, code);
  assert.ok(outcome.message.length > 10);
}
