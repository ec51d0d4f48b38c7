import { toApiError, type ApiError } from '@agentjet/chat-completions';

/** Server-sent events as a web Response whose headers go out at once and whose long silences are kept alive. */
export type EventStream = {
  /** One event; `event` names it where the protocol wants names. */
  send(data: unknown, event?: string): void;
  /** A literal data line, such as `[DONE]`. */
  sendRaw(data: string): void;
};

/** How a protocol speaks of errors and silences. */
export type EventProtocol = {
  /** The body of an error that is known before anything was sent. */
  readonly toErrorBody: (error: ApiError) => unknown;
  /** The last event of a stream that fails on its way. */
  readonly sendError: (stream: EventStream, error: ApiError) => void;
  /** What a silence is filled with: a comment, or a protocol's own ping. */
  readonly heartbeat?: string;
};

export type EventStreamOptions = EventProtocol & {
  /** Called when the client goes away. */
  readonly cancel: () => void;
  readonly heartbeatMs: number;
};

const encoder = new TextEncoder();
const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/** An error that needs no engine to be found (a prompt over the context length, an episode that has ended) has its own status. */
export async function createEventStreamResponse(
  produce: (stream: EventStream) => Promise<void>,
  options: EventStreamOptions,
): Promise<Response> {
  const { body, stream, close } = openBody(options);
  const failure = produce(stream).then(
    () => undefined,
    (thrown: unknown) => toApiError(thrown),
  );
  const early = await Promise.race([failure, immediate()]);
  if (early !== undefined) {
    close();
    return Response.json(options.toErrorBody(early), { status: early.status, headers: early.headers });
  }
  void failure.then((late) => {
    if (late !== undefined) options.sendError(stream, late);
    close();
  });
  return new Response(body, { headers });
}

type OpenBody = { readonly body: ReadableStream<Uint8Array>; readonly stream: EventStream; readonly close: () => void };

function openBody({ cancel, heartbeatMs, heartbeat = ': keep-alive\n\n' }: EventStreamOptions): OpenBody {
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  const write = (text: string): void => sink?.enqueue(encoder.encode(text));
  const timer = setInterval(() => write(heartbeat), heartbeatMs);
  const leave = (): void => {
    sink = undefined;
    clearInterval(timer);
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      sink = controller;
      // A first byte flushes the headers through every proxy in between.
      write(': open\n\n');
    },
    cancel: () => {
      leave();
      cancel();
    },
  });
  const close = (): void => {
    sink?.close();
    leave();
  };
  const sendRaw = (data: string): void => write(`data: ${data}\n\n`);
  const send = (data: unknown, event?: string): void =>
    write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
  return { body, stream: { send, sendRaw }, close };
}

/** After everything that is ready now. */
function immediate(): Promise<undefined> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(undefined));
  });
}
