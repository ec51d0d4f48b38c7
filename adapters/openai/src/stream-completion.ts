import type { ChatDelta, ChatResponse } from '@agentjet/core';
import { createEventStream, type EventStream } from './event-stream.js';
import { allOrLeave, type Call } from './call.js';
import { toDeltaChunk, toFirstChunk, toLastChunk, toUsageChunk, toWireError } from './wire-response.js';

/** Resolves with the first token, so that an error before it has a status of its own, as the SDK expects. */
export function streamCompletion(call: Call): Promise<Response> {
  return new Promise((resolve, reject) => {
    const stream = createEventStream(() => call.leave());
    let hasStarted = false;
    const started: EventStream = {
      ...stream,
      send: (event) => {
        hasStarted = true;
        resolve(stream.response);
        stream.send(event);
      },
    };
    produce(call, started).then(stream.end, (error: unknown) => {
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
  stream.send(toWireError(error).body);
  stream.end();
}

async function produce(call: Call, stream: EventStream): Promise<void> {
  const responses = await allOrLeave(call, (choice) => produceChoice(call, stream, choice));
  if (call.body.stream_options?.include_usage === true) stream.send(toUsageChunk(call.head, responses));
}

async function produceChoice(call: Call, stream: EventStream, choice: number): Promise<ChatResponse> {
  const { head, body } = call;
  let isFirst = true;
  const open = (): void => {
    if (isFirst) stream.send(toFirstChunk(head, choice));
    isFirst = false;
  };
  const write = (delta: ChatDelta): void => {
    open();
    stream.send(toDeltaChunk(head, choice, delta));
  };
  const joined = call.isHelper ? joinReasoning(write) : { push: write, flush: () => {} };
  const response = await call.generate(choice, joined.push);
  joined.flush();
  open();
  stream.send(toLastChunk(head, choice, response, body.logprobs === true));
  return response;
}

/** The SDK's stream helpers keep only the last delta of a field they do not know: they get the thinking in one. */
function joinReasoning(write: (delta: ChatDelta) => void): { push(delta: ChatDelta): void; flush(): void } {
  let reasoning = '';
  const flush = (): void => {
    if (reasoning !== '') write({ type: 'reasoning', text: reasoning });
    reasoning = '';
  };
  return {
    push: (delta) => {
      if (delta.type === 'reasoning') {
        reasoning += delta.text;
        return;
      }
      flush();
      write(delta);
    },
    flush,
  };
}
