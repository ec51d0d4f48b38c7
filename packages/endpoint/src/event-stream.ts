/** Server-sent events as a web Response whose headers go out at once and whose long silences are kept alive. */

export type EventStream = {
  /** One event; `event` names it where the protocol wants names. */
  send(data: unknown, event?: string): void;
  /** A literal data line, such as `[DONE]`. */
  sendRaw(data: string): void;
};

export type EventStreamOptions = {
  /** Aborted by us when the client goes away. */
  readonly cancel: () => void;
  readonly heartbeatMs: number;
  /** What a silence is filled with: a comment, or a protocol's own ping. */
  readonly heartbeat: string;
};

const encoder = new TextEncoder();

export function createEventStreamResponse(produce: (stream: EventStream) => Promise<void>, options: EventStreamOptions): Response {
  let timer: ReturnType<typeof setInterval> | undefined;
  let open = true;
  const close = (): void => {
    open = false;
    clearInterval(timer);
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string): void => {
        if (open) controller.enqueue(encoder.encode(text));
      };
      // A first byte flushes the headers through every proxy in between.
      write(': open\n\n');
      timer = setInterval(() => write(options.heartbeat), options.heartbeatMs);
      const sendRaw = (data: string): void => write(`data: ${data}\n\n`);
      const send = (data: unknown, event?: string): void => write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
      void produce({ send, sendRaw }).finally(() => {
        if (!open) return;
        close();
        controller.close();
      });
    },
    cancel() {
      close();
      options.cancel();
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
  });
}
