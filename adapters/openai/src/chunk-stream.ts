/** A web Response of server-sent events that are pushed to it. */
export type ChunkStream = {
  readonly response: Response;
  send(event: unknown): void;
  end(): void;
  fail(error: unknown): void;
};

const encoder = new TextEncoder();

export function createEventStream(onLeave: () => void): ChunkStream {
  let isOpen = true;
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      sink = controller;
    },
    cancel: () => {
      isOpen = false;
      onLeave();
    },
  });
  const write = (text: string): void => {
    if (isOpen) sink?.enqueue(encoder.encode(`data: ${text}\n\n`));
  };
  const close = (finish: () => void): void => {
    if (!isOpen) return;
    isOpen = false;
    finish();
  };
  return {
    response: new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }),
    send: (event) => write(JSON.stringify(event)),
    end: () => {
      write('[DONE]');
      close(() => sink?.close());
    },
    fail: (error) => close(() => sink?.error(error)),
  };
}
