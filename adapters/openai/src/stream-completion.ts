import { streamChatCompletion, toOpenAIErrorBody, toApiError } from '@agentjet/chat-completions';
import type { ClientCall } from './call.js';
import { createEventStream, type ChunkStream } from './chunk-stream.js';

/** Resolves with the first token. An error before it has its own status, as the SDK expects. */
export function streamCompletion(call: ClientCall): Promise<Response> {
  return new Promise((resolve, reject) => {
    const stream = createEventStream(() => call.cancel('The reader left the stream.'));
    let hasStarted = false;
    const send = (chunk: unknown): void => {
      hasStarted = true;
      resolve(stream.response);
      stream.send(chunk);
    };
    streamChatCompletion(call, call.body, call.modelName, send).then(stream.end, (error: unknown) => {
      if (!hasStarted) reject(error);
      else failMidway(call, stream, error);
    });
  });
}

function failMidway(call: ClientCall, stream: ChunkStream, error: unknown): void {
  if (call.isAborted()) {
    stream.fail(new DOMException('The call was aborted.', 'AbortError'));
    return;
  }
  stream.send(toOpenAIErrorBody(toApiError(error)));
  stream.end();
}
