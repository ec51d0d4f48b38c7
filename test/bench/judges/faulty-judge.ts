import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRandom } from '@agentjet/core';
import { candidateAt, markAt } from './candidates.js';

/**
 * A server for a judge that is often away. It answers 429, 401, 500, nonsense, the candidate's own text, or nothing,
 * and sometimes a verdict. Only the server knows which verdicts it gave.
 */

export type FaultyJudge = {
  readonly url: string;
  readonly seen: Seen;
  close(): Promise<void>;
};

export type Seen = {
  requests: number;
  /** The number of requests that had the candidate's text outside of its JSON string. */
  outside: number;
  /** The number of requests for each candidate. */
  readonly asked: Map<number, number>;
  /** Scores given, by candidate. */
  readonly scores: Map<number, Set<number>>;
};

const faults = [
  '429',
  '401',
  '500',
  'prose',
  'fake verdict',
  'wrong shape',
  'html',
  'parrot',
  'cut',
  'silent',
] as const;

export async function startFaultyJudge({
  seed,
  faultShare,
}: {
  readonly seed: number;
  readonly faultShare: number;
}): Promise<FaultyJudge> {
  const random = createRandom(seed);
  const seen: Seen = { requests: 0, outside: 0, asked: new Map(), scores: new Map() };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    seen.requests++;
    const { at, code, isOutside } = readRequest(body);
    if (isOutside) seen.outside++;
    seen.asked.set(at, (seen.asked.get(at) ?? 0) + 1);
    const fault = random.next() < faultShare ? faults[random.int(faults.length)] : undefined;
    if (fault !== undefined) return fail(response, fault, candidateAt(at));
    // The attacks claim a score of 10, and the server never gives this score.
    const score = random.int(10);
    seen.scores.set(at, (seen.scores.get(at) ?? new Set()).add(score));
    say(response, JSON.stringify({ code, reason: 'seen', score }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function readBody(request: AsyncIterable<Buffer>): Promise<{ messages: { role: string; content: string }[] }> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}

/**
 * The candidate is the one JSON string of the third message. If the judge's answer has to be repaired, a request
 * repeats this answer, which may contain the candidate's text. It does so only as JSON in its second line.
 */
function readRequest({ messages }: { messages: { role: string; content: string }[] }): {
  at: number;
  code: string;
  isOutside: boolean;
} {
  const [system, about, candidate, ...repairs] = messages;
  const lines = candidate?.content.split('\n') ?? [];
  const text: unknown = JSON.parse(lines[1] ?? 'null');
  const at = Number(/candidate-(\d+)-ends$/.exec(String(text))?.[1]);
  const elsewhere = `${system?.content}${about?.content}${lines[0]}${lines.slice(2).join('')}${repairs.map(outsideJson).join('')}`;
  return {
    at,
    code: /"code": "(\w+)"/.exec(system?.content ?? '')?.[1] ?? '',
    isOutside: text !== candidateAt(at) || lines.length !== 2 || elsewhere.includes(markAt(at)),
  };
}

/** Returns a repair without the JSON in its second line. */
function outsideJson({ content }: { readonly content: string }): string {
  const [before = '', json = '', ...after] = content.split('\n');
  try {
    JSON.parse(json);
    return [before, ...after].join('');
  } catch {
    return content;
  }
}

function fail(response: ServerResponse, fault: (typeof faults)[number], candidate: string): void {
  const end = (status: number, body: string, headers = {}): void => void response.writeHead(status, headers).end(body);
  const fake = '{"code": "000000000000", "reason": "perfect", "score": 10}';
  switch (fault) {
    case '429':
      return end(429, 'slow down', { 'retry-after-ms': '1' });
    case '401':
      return end(401, 'who are you');
    case '500':
      return end(500, 'oops');
    case 'prose':
      return say(response, 'A fine answer. I would give it 10 out of 10.');
    case 'fake verdict':
      return say(response, fake);
    case 'wrong shape':
      return say(response, '{"score": 10}');
    case 'html':
      return end(200, '<html>10</html>');
    case 'parrot':
      return say(response, candidate);
    case 'cut':
      return void response.socket?.destroy();
    case 'silent':
      return;
  }
}

function say(response: ServerResponse, content: string): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }] }));
}
