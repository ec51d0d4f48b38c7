import { toApiError, type ApiError } from './api-error.js';

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
  /**
   * Clients of the protocol accept nothing but data lines. A silence is then filled with the beginning of the next event:
   * `data: `, and spaces, which JSON allows.
   */
  readonly hasDataOnly?: boolean;
};

export type EventStreamOptions = EventProtocol & {
  /** Called when the client leaves. */
  readonly cancel: () => void;
  /** How often a silence is filled. Absent in process, where no connection can time out. */
  readonly heartbeatMs?: number;
  /** Called after an error midway. If it returns an error, the body fails with it, and no last event is sent. */
  readonly breakWith?: () => unknown;
};

const dataField = 'data: ';
const encoder = new TextEncoder();
const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/**
 * Sends the headers only after all callbacks that are ready now have run. Until then, an error can still set the HTTP
 * status. So errors that are found without the engine, such as a prompt longer than the context, have the right status.
 * In process, where no client waits for headers, the first event comes before them.
 */
export async function createEventStreamResponse(
  produce: (stream: EventStream) => Promise<void>,
  options: EventStreamOptions,
): Promise<Response> {
  const { body, stream, close, fail, hasBegun } = openBody(options);
  const failure = produce(stream).then(
    () => undefined,
    (thrown: unknown) => toApiError(thrown),
  );
  if (options.heartbeatMs === undefined) await Promise.race([failure, hasBegun]);
  const early = await Promise.race([failure, immediate()]);
  if (early !== undefined) {
    close();
    return Response.json(options.toErrorBody(early), { status: early.status, headers: early.headers });
  }
  void failure.then((late) => {
    const breakage = late === undefined ? undefined : options.breakWith?.();
    if (breakage !== undefined) return fail(breakage);
    if (late !== undefined) options.sendError(stream, late);
    close();
  });
  return new Response(body, { headers });
}

type OpenBody = {
  readonly body: ReadableStream<Uint8Array>;
  readonly stream: EventStream;
  readonly close: () => void;
  readonly fail: (error: unknown) => void;
  /** Resolves with the first event, or at the end. */
  readonly hasBegun: Promise<void>;
};

function openBody({ cancel, heartbeatMs, heartbeat, hasDataOnly = false }: EventStreamOptions): OpenBody {
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  let begin = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const write = (text: string): void => sink?.enqueue(encoder.encode(text));
  let isDataBegun = false;
  const fill = (filling: string): void => {
    write(!hasDataOnly ? filling : isDataBegun ? ' ' : dataField);
    isDataBegun = hasDataOnly;
  };
  const timer =
    heartbeatMs === undefined ? undefined : setInterval(() => fill(heartbeat ?? ': keep-alive\n\n'), heartbeatMs);
  const leave = (): void => {
    sink = undefined;
    clearInterval(timer);
    begin();
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      sink = controller;
      // Some proxies send the headers only with the first bytes of the body.
      if (timer !== undefined) fill(': open\n\n');
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
  const fail = (error: unknown): void => {
    sink?.error(error);
    leave();
  };
  const writeEvent = (data: string, event?: string): void => {
    const name = event === undefined ? '' : `event: ${event}\n`;
    write(`${isDataBegun ? '' : `${name}${dataField}`}${data}\n\n`);
    isDataBegun = false;
    begin();
  };
  const sendRaw = (data: string): void => writeEvent(data);
  const send = (data: unknown, event?: string): void => writeEvent(JSON.stringify(data), event);
  return { body, stream: { send, sendRaw }, close, fail, hasBegun };
}

/** Resolves after all callbacks that are ready now have run. */
function immediate(): Promise<undefined> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(undefined));
  });
}
