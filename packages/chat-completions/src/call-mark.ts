import { type ChatRequest, isJsonObject } from '@agentjet/core';
import { type Protocol, readTemplateWishes, reviewParameters } from '@agentjet/core/parameters';
import { findUnshown } from './others-answers.js';
import { ApiError } from './api-error.js';

/** A client sets this header to `false` for a call that should not be trained, such as one that writes a title. */
const trainHeader = 'x-ajet-train';

type CallMark = Pick<ChatRequest, 'model' | 'isTrained' | 'ignoredParameters' | 'thinkingOff' | 'chatTemplateKwargs'>;

/** Adds the mark to a request, which may have its own list of what has no effect. */
export function markRequest(request: ChatRequest, mark: CallMark): ChatRequest {
  const ignored = [...(request.ignoredParameters ?? []), ...(mark.ignoredParameters ?? [])];
  return { ...request, ...mark, ...(ignored.length > 0 && { ignoredParameters: ignored }) };
}

/**
 * Reads what a request says in addition to its messages: whether it is trained (by a header or by the requested model
 * name), and which parameters have no effect. Throws ApiError 400 if the header is wrong.
 */
export function toCallMark(protocol: Protocol, headers: Headers, body: unknown): CallMark {
  const asked = headers.get(trainHeader);
  if (asked !== null && asked !== 'true' && asked !== 'false') {
    const message = `The header ${trainHeader} is ${JSON.stringify(asked)}. Send "false" for a call that is not to be trained, or leave it out.`;
    throw new ApiError(400, 'invalid_value', message, trainHeader);
  }
  const model = isJsonObject(body) ? body['model'] : undefined;
  const ignored = [...reviewParameters(protocol, body).ignored, ...findUnshown(protocol, body)];
  return {
    ...readTemplateWishes(protocol, body),
    ...(ignored.length > 0 && { ignoredParameters: ignored }),
    ...(typeof model === 'string' && { model }),
    ...(asked === 'false' && { isTrained: false }),
  };
}
