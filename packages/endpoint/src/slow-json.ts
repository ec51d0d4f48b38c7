import { toWireError, type WireError } from './wire-error.js';

/**
 * A JSON answer that may take long. HTTP clients cut a connection that shows no headers for 300 s, so after
 * `graceMs` the headers go out as 200 and spaces keep the connection alive: JSON allows them in front. An error
 * before that has its own status; one after it arrives as an error body under 200.
 */
export async function createSlowJsonResponse(
  pending: Promise<unknown>,
  options: { readonly graceMs: number; readonly heartbeatMs: number; readonly cancel: () => void; readonly toErrorBody: (error: WireError) => unknown },
): Promise<Response> {
  const settled = pending.then(
    (value) => ({ status: 200, body: value }),
    (thrown: unknown) => {
      const error = toWireError(thrown);
      return { status: error.status, body: options.toErrorBody(error) };
    },
  );
  const first = await Promise.race([settled, delay(options.graceMs)]);
  if (first !== undefined) return Response.json(first.body, { status: first.status });
  return keepAlive(settled, options);
}

function keepAlive(settled: Promise<{ readonly body: unknown }>, options: { readonly heartbeatMs: number; readonly cancel: () => void }): Response {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const beat = (): void => controller.enqueue(encoder.encode(' '));
      beat();
      timer = setInterval(beat, options.heartbeatMs);
      void settled.then((result) => {
        if (timer === undefined) return;
        clearInterval(timer);
        controller.enqueue(encoder.encode(JSON.stringify(result.body)));
        controller.close();
      });
    },
    cancel() {
      clearInterval(timer);
      timer = undefined;
      options.cancel();
    },
  });
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

function delay(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref();
  });
}
