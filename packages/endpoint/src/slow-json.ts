import { toApiError, type ApiError } from '@agentjet/chat-completions';

export type SlowJsonOptions = {
  readonly graceMs: number;
  readonly heartbeatMs: number;
  readonly toErrorBody: (error: ApiError) => unknown;
  /** Called when the client leaves. */
  readonly cancel: () => void;
  /** Closes the connection after the bytes written so far have been sent. */
  readonly breakOff: () => void;
};

type Settled = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Creates a JSON response for an answer that may take long. HTTP clients give up if they see no headers for 300 s. So
 * the headers are sent after `graceMs`, with status 200, and then spaces keep the connection alive. JSON allows spaces
 * before a value. An error within `graceMs` has its own status. A later error is written into the body, and then the
 * connection is cut, so no client takes it for an answer.
 */
export async function createSlowJsonResponse(pending: Promise<unknown>, options: SlowJsonOptions): Promise<Response> {
  const settled = pending.then(
    (body): Settled => ({ status: 200, body }),
    (thrown: unknown): Settled => {
      const error = toApiError(thrown);
      return { status: error.status, body: options.toErrorBody(error), headers: error.headers };
    },
  );
  const { timer, expired } = delay(options.graceMs);
  const first = await Promise.race([settled, expired]);
  clearTimeout(timer);
  if (first !== undefined) return Response.json(first.body, { status: first.status, headers: first.headers ?? {} });
  return keepAlive(settled, options);
}

function keepAlive(settled: Promise<Settled>, { heartbeatMs, cancel, breakOff }: SlowJsonOptions): Response {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const beat = (): void => controller.enqueue(encoder.encode(' '));
      beat();
      timer = setInterval(beat, heartbeatMs);
      void settled.then((result) => {
        if (timer === undefined) return;
        clearInterval(timer);
        controller.enqueue(encoder.encode(JSON.stringify(result.body)));
        if (result.status === 200) controller.close();
        else breakOff();
      });
    },
    cancel() {
      clearInterval(timer);
      timer = undefined;
      cancel();
    },
  });
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

function delay(milliseconds: number): {
  readonly timer: ReturnType<typeof setTimeout>;
  readonly expired: Promise<undefined>;
} {
  let expire = (): void => undefined;
  const expired = new Promise<undefined>((resolve) => {
    expire = () => resolve(undefined);
  });
  return { timer: setTimeout(expire, milliseconds), expired };
}
