import { streamChat, toOpenAIErrorBody, toWireError } from '@agentjet/chat-completions';
import type { Call } from './call.js';
import { createEventStream, type EventStream } from './event-stream.js';

/** Resolves with the first token, so that an error before it has a status of its own, as the SDK expects. */
export function streamCompletion(call: Call): Promise<Response> {
  return new Promise((resolve, reject) => {
    const stream = createEventStream(() => call.cancel('The reader left the stream.'));
    let hasStarted = false;
    const send = (chunk: unknown): void => {
      hasStarted = true;
      resolve(stream.response);
      stream.send(chunk);
    };
    streamChat(call, call.body, call.modelName, send).then(stream.end, (error: unknown) => {
      if (!hasStarted) reject(error);
      else failMidway(call, stream, error);
    });
  });
}

function failMidway(call: Call, stream: EventStream, error: unknown): void {
  if (call.isAborted()) {
    stream.fail(new DOMException('The call was aborted.', 'AbortError'));
    return;
  }
  stream.send(toOpenAIErrorBody(toWireError(error)));
  stream.end();
}
