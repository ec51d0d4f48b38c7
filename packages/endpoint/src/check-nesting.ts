import { ApiError } from '@agentjet/chat-completions';
import { endOfString, requestLimits } from '@agentjet/core';

/**
 * The maximum number of lists and objects in one body. The largest request within the other limits has a tenth of this
 * number.
 */
const maxContainers = 100_000;

const quote = 0x22;

/**
 * Refuses JSON text that is short but takes long to parse and check, because it is deeply nested or has very many lists
 * and objects. Throws ApiError 400. Text that is not JSON passes, and the parser reports what is wrong with it.
 */
export function checkNesting(text: string): void {
  const { depth } = requestLimits;
  const excess = findExcess(text, { depth, containers: maxContainers });
  if (excess === 'depth') throw tooLarge(`is nested more than ${depth} levels deep`);
  if (excess === 'containers') throw tooLarge(`has more than ${maxContainers} lists and objects`);
}

type Nesting = { readonly depth: number; readonly containers: number };

/**
 * Returns the limit that the lists and objects of a JSON text exceed, if any. It looks only at brackets outside of
 * strings.
 */
export function findExcess(text: string, limits: Nesting): keyof Nesting | undefined {
  let depth = 0;
  let numContainers = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (isOpening(code)) {
      if (++depth > limits.depth) return 'depth';
      if (++numContainers > limits.containers) return 'containers';
    } else if (isClosing(code)) depth--;
  }
  return undefined;
}

/** Matches `[` and `{`. The closing characters are two code points above. */
function isOpening(code: number): boolean {
  return code === 0x5b || code === 0x7b;
}

function isClosing(code: number): boolean {
  return code === 0x5d || code === 0x7d;
}

function tooLarge(what: string): ApiError {
  return new ApiError(400, 'request_too_complex', `The request body ${what}. Send less in one request.`);
}
