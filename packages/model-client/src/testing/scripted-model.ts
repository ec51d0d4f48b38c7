import type { ModelHost } from '../host.js';

/**
 * One answer of a scripted server: a body with its status, a broken connection, or silence until the request is
 * abandoned.
 */
export type ScriptedAnswer =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | 'broken'
  | 'silent';

export type SeenRequest = {
  readonly url: string;
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
};

/** Creates a whole answer with this text. */
export function says(text: string): ScriptedAnswer {
  const body = {
    choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  };
  return { status: 200, body: JSON.stringify(body) };
}

/** A host without a network. Its clock advances only during `sleep`. `reply` makes each answer. */
export function scriptedHost(
  reply: (request: SeenRequest, at: number) => ScriptedAnswer,
  environment: Readonly<Record<string, string>> = { KEY: 'secret-1' },
): ModelHost & { readonly requests: readonly SeenRequest[]; readonly sleeps: readonly number[] } {
  const requests: SeenRequest[] = [];
  const sleeps: number[] = [];
  let now = 0;
  return {
    requests,
    sleeps,
    environment,
    now: () => now,
    random: () => 0.5,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      sleeps.push(ms);
      now += ms;
    },
    fetch: async (url, { headers, body, signal }) => {
      const key = headers['authorization']?.replace('Bearer ', '') ?? '';
      const request = { url, key, body: JSON.parse(body ?? '{}') };
      requests.push(request);
      const answer = reply(request, requests.length - 1);
      if (answer === 'broken') throw new TypeError('fetch failed', { cause: new Error('read ECONNRESET') });
      if (answer === 'silent') return untilAborted(signal);
      return new Response(answer.body, { status: answer.status, headers: answer.headers ?? {} });
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}
