import { type ChatRequest, isJsonObject } from '@agentjet/core';
import { WireError } from './wire-error.js';

/** The header by which a client marks a call that no agent made, such as one for a title: `false` keeps it from being trained. */
export const trainHeader = 'x-ajet-train';

/** What a request says about being trained: by header, or by the model name that it asks for. Throws WireError 400. */
export function toCallMark(headers: Headers, body: unknown): Pick<ChatRequest, 'model' | 'isTrained'> {
  const asked = headers.get(trainHeader);
  if (asked !== null && asked !== 'true' && asked !== 'false') {
    const message = `The header ${trainHeader} is ${JSON.stringify(asked)}. Send "false" for a call that is not to be trained, or leave it out.`;
    throw new WireError(400, 'invalid_value', message, trainHeader);
  }
  const model = isJsonObject(body) ? body['model'] : undefined;
  return { ...(typeof model === 'string' && { model }), ...(asked === 'false' && { isTrained: false }) };
}
