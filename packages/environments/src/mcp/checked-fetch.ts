import { AnswerCheck } from '../http/answer-check.js';

export type CheckedFetch = {
  readonly fetch: typeof fetch;
  /** Returns the id of the session, or undefined until the server has given one. */
  readonly sessionId: () => string | undefined;
};

/**
 * Creates a `fetch` for the SDK that checks answers, because the SDK accepts any size and any session id. It rejects or
 * cuts off an answer that is too large, too deep, or of another session, and calls `onRefused`, because the session
 * cannot continue. `live` contains the ids of all open sessions; this session is added to it. `send` sends the requests.
 */
export function checkedFetch(
  live: Set<string>,
  onRefused: (error: unknown) => void,
  send: typeof fetch = (url, init) => globalThis.fetch(url, init),
): CheckedFetch {
  let own: string | undefined;
  const isForeign = (named: string): boolean => (own === undefined ? live.has(named) : named !== own);
  const ask: typeof fetch = async (url, init) => {
    const response = await send(url, init);
    const named = response.headers.get('mcp-session-id');
    if (named !== null && isForeign(named)) {
      await response.body?.cancel();
      const error = new Error(`it answered for another session, ${named.slice(0, 100)}`);
      onRefused(error);
      throw error;
    }
    if (named !== null) live.add((own = named));
    if (response.body === null || (response.status >= 300 && response.status < 400)) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const { status, statusText, headers } = response;
    return new Response(checked(response.body, { isStream, onRefused }), { status, statusText, headers });
  };
  return { fetch: ask, sessionId: () => own };
}

function checked(
  body: ReadableStream<Uint8Array>,
  { isStream, onRefused }: { readonly isStream: boolean; readonly onRefused: (error: unknown) => void },
): ReadableStream<Uint8Array> {
  const check = new AnswerCheck({ isStream });
  const transform = (part: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
    try {
      check.read(part);
      controller.enqueue(part);
    } catch (error) {
      onRefused(error);
      controller.error(error);
    }
  };
  return body.pipeThrough(new TransformStream({ transform }));
}
