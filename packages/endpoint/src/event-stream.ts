import { toApiError, type ApiError } from '@agentjet/chat-completions';

/**
 * Writes the server-sent events of a response. Its headers are sent at once, and long silences are filled to keep the
 * connection alive.
 */
export type EventStream = {
  /** Sends one event. `event` is its name, for protocols with named events. */
  send(data: unknown, event?: string): void;
  /** Sends a literal data line, such as `[DONE]`. */
  sendRaw(data: string): void;
};

/** How a protocol reports errors and fills silences. */
export type EventProtocol = {
  /** Creates the body of an error that happens before anything was sent. */
  readonly toErrorBody: (error: ApiError) => unknown;
  /** Sends the last event of a stream that fails midway. */
  readonly sendError: (stream: EventStream, error: ApiError) => void;
  /** The data that is sent regularly to keep the connection alive: a comment, or the protocol's own ping. */
  readonly heartbeat?: string;
};

export type EventStreamOptions = EventProtocol & {
  /** Called when the client leaves. */
  readonly cancel: () => void;
  readonly heartbeatMs: number;
};

const encoder = new TextEncoder();
const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/**
 * Sends the headers only after all callbacks that are ready now have run. Until then, an error can still set the HTTP
 * status. So errors that are found without the engine, such as a prompt longer than the context, have the right status.
 */
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
      // Some proxies send the headers only with the first bytes of the body.
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

/** Resolves after all callbacks that are ready now have run. */
function immediate(): Promise<undefined> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(undefined));
  });
}
