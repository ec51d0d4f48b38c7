import { WireError } from '@agentjet/swarm-wire';

export type BodyLimits = { readonly maxBytes: number; readonly maxDepth: number; readonly maxMs: number };

/**
 * A JSON body within its limits. An empty body is an empty object.
 * @throws WireError `unsupported_media_type`, `too_large`, `slow_body`, `invalid_json`, `invalid_request` (too deep)
 */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  if (request.headers.get('content-encoding') !== null) {
    throw new WireError('unsupported_media_type', 'A compressed body is not read here. Send plain JSON.');
  }
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > limits.maxBytes) throw tooLarge(announced, limits);
  const text = await readText(request, limits);
  if (text === '') return {};
  requireShallow(text, limits.maxDepth);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new WireError('invalid_json', `The body is not JSON. It begins with ${JSON.stringify(text.slice(0, 60))}.`);
  }
}

async function readText({ body }: Request, limits: BodyLimits): Promise<string> {
  if (body === null) return '';
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let numBytes = 0;
  const slow = createDeadline(limits.maxMs);
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), slow.reached]);
      if (done) return Buffer.concat(chunks).toString();
      numBytes += value.length;
      if (numBytes > limits.maxBytes) throw tooLarge(numBytes, limits);
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {}); // the connection is given up anyway
    throw error;
  } finally {
    slow.clear();
  }
}

function createDeadline(maxMs: number): { readonly reached: Promise<never>; readonly clear: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const reached = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new WireError('slow_body', `The body did not come within ${maxMs / 1000} seconds.`));
    }, maxMs);
  });
  return { reached, clear: () => clearTimeout(timer) };
}

const tooLarge = (numBytes: number, { maxBytes }: BodyLimits): WireError =>
  new WireError('too_large', `The body has ${numBytes} bytes or more; at most ${maxBytes} are read.`);

/** Looks at brackets outside of strings, before a parser recurses into them. */
function requireShallow(text: string, maxDepth: number): void {
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (isInString) {
      if (char === '\\') index++;
      else if (char === '"') isInString = false;
    } else if (char === '"') isInString = true;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    if (depth > maxDepth) {
      throw new WireError('invalid_request', `The body is nested more than ${maxDepth} deep.`);
    }
  }
}
