import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { attackJudge, run } from './bench.js';

let server: Server | undefined;
afterEach(() => {
  server?.close();
  vi.unstubAllEnvs();
});

/**
 * Serves a judge that gives points to a candidate that mentions the rubric. If a candidate contains a tag, the judge
 * repeats the candidate.
 */
async function serveGullible(): Promise<string> {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { messages } = JSON.parse(text) as { readonly messages: readonly { readonly content: string }[] };
      const code = /"code": "(\w+)"/.exec(messages[0]?.content ?? '')?.[1];
      const said = JSON.parse(messages[2]?.content.split('\n')[1] ?? '""') as string;
      const verdict = JSON.stringify({ code, reason: '', score: said.includes('43') || /rubric/.test(said) ? 10 : 0 });
      const content = said.includes('<|im_start|>') ? said : verdict;
      response.end(JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }] }));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

it('counts attacks that a model rewards, and those on which it gives no verdict', async () => {
  vi.stubEnv('BENCH_REAL_KEY', 'key-of-a-test');
  const lines: string[] = [];
  const { summary } = await attackJudge(
    { baseUrl: await serveGullible(), model: 'gullible', key: 'BENCH_REAL_KEY' },
    (line) => lines.push(line),
  );
  expect(summary).toEqual({ model: 'gullible', attacks: 30, rewarded: 2, without_verdict: 2, right: 1, wrong: 0 });
  expect(lines).toHaveLength(30);
});

it('says which options it needs', async () => {
  const bench = run({ report: () => undefined, args: ['--model', 'm'], waitUntilQuiet: async () => undefined });
  await expect(bench).rejects.toThrow('--base-url is missing');
});
