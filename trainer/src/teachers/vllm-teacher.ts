import { setTimeout as wait } from 'node:timers/promises';
import { BackboneError, countOf, cutText, isJsonObject, parseJson, toErrorMessage, type Teacher } from '@agentjet/core';
import { gapAfter, isTemporary, longestRestMs, readWait } from '@agentjet/core/retries';
import { createRowTeacher } from './row-teacher.js';

export type VllmTeacherOptions = {
  /** The address of the server, such as `http://localhost:8000/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** The name of the model at the server. */
  readonly model: string;
  /** Aborts running requests. */
  readonly signal?: AbortSignal | undefined;
  /** The longest pause before the first repetition of a request. Each later pause may be twice as long. Default: 500 ms. */
  readonly pauseMs?: number;
  /**
   * How long a server that has answered before may be away, for example because it restarts. Null means without a limit.
   * Default: as long as 8 attempts take.
   */
  readonly maxOutageMs?: number | null;
  readonly onNotice?: (message: string) => void;
  /** The longest time that the server may take for one answer. Default: 5 minutes. */
  readonly silenceMs?: number;
};

/** What a server says about one token of a prompt. `text` is null if the server does not send it. */
export type PromptToken = { readonly logprob: number; readonly text: string | null };

export type VllmTeacher = Teacher & {
  /** Resolves with shape [T]: each token of the prompt, given the tokens before it. Entry 0 has logprob 0. */
  readonly scorePrompt: (ids: Int32Array) => Promise<readonly PromptToken[]>;
};

const mostAttempts = 8;
const longestGapMs = 60_000;
const longestSilenceMs = 300_000;

/**
 * Makes a teacher of a server with the completions API of vLLM, which gives `prompt_logprobs`. A request is repeated if
 * the server cannot be reached or is busy. Rejects with BackboneError `unreachable`, `teacher_refused` or
 * `bad_teacher_answer`.
 */
export function createVllmTeacher(options: VllmTeacherOptions): VllmTeacher {
  const closing = new AbortController();
  const contact: Contact = { hasAnswered: false, isAway: false, isSilent: false };
  const signals = [closing.signal, ...(options.signal ? [options.signal] : [])];
  const scorePrompt = async (ids: Int32Array): Promise<readonly PromptToken[]> =>
    readPrompt(await ask(ids, options, { signals, contact }), ids, options);
  const teacher = createRowTeacher({
    name: options.model,
    scoreRow: async (ids) => (await scorePrompt(ids)).map(({ logprob }) => logprob),
    close: async () => closing.abort(),
  });
  return { ...teacher, scorePrompt };
}

/** What is known about the server from all requests. */
type Contact = { hasAnswered: boolean; isAway: boolean; isSilent: boolean };

async function ask(
  ids: Int32Array,
  options: VllmTeacherOptions,
  { signals, contact }: { readonly signals: readonly AbortSignal[]; readonly contact: Contact },
): Promise<unknown> {
  const { baseUrl, apiKey, model, pauseMs = 500, silenceMs = longestSilenceMs } = options;
  const url = `${baseUrl.replace(/\/+$/, '')}/completions`;
  const headers = { 'content-type': 'application/json', ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }) };
  const body = JSON.stringify({ model, prompt: [...ids], max_tokens: 1, temperature: 1, prompt_logprobs: 1 });
  const signal = AbortSignal.any([...signals]);
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt++) {
    const answer = await post(url, { headers, body, signal, silenceMs });
    if (answer.isOk) {
      [contact.hasAnswered, contact.isAway, contact.isSilent] = [true, false, false];
      return parseAnswer(answer.text, options);
    }
    if (!answer.isBusy)
      throw new BackboneError(
        'teacher_refused',
        `The teacher ${model} at ${url} refused to score a row (${answer.what}).`,
      );
    const { askedMs, what } = answer;
    const isOver = attempt >= mostAttempts && !mayBeAway(options, contact, performance.now() - startedAt);
    if (isOver || askedMs > longestRestMs)
      throw new BackboneError(
        'unreachable',
        `The teacher ${model} at ${url} did not answer in ${countOf(attempt, 'attempt')} (last: ${what}${askedMs > longestRestMs ? `; it asks to wait for ${Math.round(askedMs / 60_000)} minutes` : ''}). Check teacher.base_url, and continue the run with --resume.`,
      );
    if (attempt === 1 && answer.isSilent && !contact.isSilent)
      options.onNotice?.(
        `The teacher ${model} gave ${what}. The step waits while each row is sent up to ${mostAttempts} times.`,
      );
    contact.isSilent ||= answer.isSilent;
    if (attempt === mostAttempts && !contact.isAway) {
      contact.isAway = true;
      options.onNotice?.(`The teacher ${model} does not answer (${what}). The run waits for it (rollout.max_outage).`);
    }
    const gapMs = gapAfter(attempt, { firstGapMs: pauseMs, longestGapMs }, Math.random());
    await wait(Math.max(askedMs, gapMs), undefined, { signal });
  }
}

function mayBeAway({ maxOutageMs = 0 }: VllmTeacherOptions, { hasAnswered }: Contact, forMs: number): boolean {
  return hasAnswered && (maxOutageMs === null || forMs < maxOutageMs);
}

type Answer =
  | { readonly isOk: true; readonly text: string }
  | {
      readonly isOk: false;
      readonly isBusy: boolean;
      /** Whether the server was reached, and gave no answer in time. */
      readonly isSilent: boolean;
      readonly askedMs: number;
      readonly what: string;
    };

type Request = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly silenceMs: number;
};

/** Sends a request once. A connection that breaks before the whole answer has come is a busy server, too. */
async function post(url: string, { headers, body, signal, silenceMs }: Request): Promise<Answer> {
  const silence = AbortSignal.timeout(silenceMs);
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.any([signal, silence]) });
    const text = await answer.text();
    if (answer.ok) return { isOk: true, text };
    const what = `status ${answer.status}: ${cutText(text)}`;
    const isBusy = isTemporary(answer.status);
    return { isOk: false, isBusy, isSilent: false, askedMs: readWait(answer.headers) ?? 0, what };
  } catch (error) {
    signal.throwIfAborted();
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const what = silence.aborted ? `no answer in ${silenceMs / 1000} s` : toErrorMessage(cause);
    return { isOk: false, isBusy: true, isSilent: silence.aborted, askedMs: 0, what };
  }
}

/** JSON has no NaN. Servers in Python write it all the same. */
const brokenNumber = /[:[,]\s*(?:NaN|-?Infinity)\b/;

function parseAnswer(text: string, { model }: VllmTeacherOptions): unknown {
  const answer = parseJson(text);
  if (answer !== undefined) return answer;
  const found = brokenNumber.test(text)
    ? 'a logprob that is not a number (NaN or Infinity). Its weights or its precision are broken'
    : `an answer that is not JSON: ${cutText(text)}. teacher.base_url names the API of the server, such as http://localhost:8000/v1`;
  throw new BackboneError('bad_teacher_answer', `The teacher ${model} gave ${found}.`);
}

/** Reads `prompt_logprobs`. Each token has an object with an entry for itself and entries for likelier tokens. */
function readPrompt(answer: unknown, ids: Int32Array, { model }: VllmTeacherOptions): readonly PromptToken[] {
  const choices = isJsonObject(answer) ? answer['choices'] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const tokens: unknown = isJsonObject(choice) ? choice['prompt_logprobs'] : undefined;
  if (!Array.isArray(tokens) || tokens.length !== ids.length)
    throw new BackboneError(
      'bad_teacher_answer',
      `The teacher ${model} gave ${Array.isArray(tokens) ? tokens.length : 'no'} prompt_logprobs for a row of ${ids.length} tokens. teacher.server vllm needs a server that gives prompt_logprobs for completions.`,
    );
  return Array.from(ids, (id, t) => {
    if (t === 0) return { logprob: 0, text: null };
    const entries: unknown = tokens[t];
    const entry = isJsonObject(entries) ? entries[String(id)] : undefined;
    const { logprob, decoded_token: text } = isJsonObject(entry) ? entry : {};
    return {
      logprob: typeof logprob === 'number' ? logprob : Number.NaN,
      text: typeof text === 'string' ? text : null,
    };
  });
}
