import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject, Task } from '@agentjet/core';
import { createTracingReader } from '@agentjet/traces';
import { followRun } from '@agentjet/trackers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { recordEpisode, recordRun } from './recorded-run.js';

let scratch = '';
beforeEach(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'otlp-'));
  for (const name of Object.keys(process.env).filter((each) => each.startsWith('OTEL_'))) vi.stubEnv(name, undefined);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(scratch, { recursive: true, force: true });
});

/** Records a run, follows it with the tracker, and returns its folder and what was noticed. */
async function follow(ids: readonly string[], more: { readonly traceSample?: number } = {}) {
  const records = await Promise.all(ids.map(recordEpisode));
  const { dir: runDir } = await recordRun(scratch, records);
  const notices: string[] = [];
  const onNotice = (message: string): void => void notices.push(message);
  await followRun(['otlp'], { runDir, project: 'shop', experiment: 'e', onNotice, ...more }).close();
  return { runDir, notices, file: path.join(runDir, 'otlp/train-000001.jsonl') };
}

type Written = {
  readonly name: string;
  readonly attributes: readonly { key: string; value: JsonObject }[];
} & JsonObject;

async function spansOf(file: string): Promise<readonly Written[]> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.flatMap((line) => JSON.parse(line).resourceSpans[0].scopeSpans[0].spans);
}

const valuesOf = ({ attributes }: Written): JsonObject =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

it('writes the episodes of a step as spans of both conventions, in one trace for each episode', async () => {
  const { file, notices } = await follow(['e1', 'e2']);
  expect(notices).toEqual([]);
  const spans = await spansOf(file);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  const own = spans.filter(({ traceId }) => traceId === spans[0]?.['traceId']);
  const names = own.map(({ name }) => name);
  // Each of the five calls is in one document, also if a fork repeats it.
  expect(names.filter((name) => name.startsWith('chat'))).toHaveLength(5);
  expect(names).toEqual(
    expect.arrayContaining(['episode', 'invoke_agent solver', 'invoke_agent critic', 'execute_tool add']),
  );
  const ids = new Set(own.map(({ spanId }) => spanId));
  expect(own.filter(({ parentSpanId }) => !ids.has(parentSpanId)).map(({ name }) => name)).toEqual(['episode']);
  const first = own.find((span) => 'llm.output_messages.0.message.tool_calls.0.tool_call.id' in valuesOf(span));
  const values = valuesOf(first as Written);
  expect(values).toMatchObject({
    'openinference.span.kind': 'LLM',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'nano',
    'gen_ai.conversation.id': 'e1',
    'session.id': 'e1',
    'llm.input_messages.0.message.role': 'system',
    'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{"a": 1.0,  "b":2}',
  });
  expect(Number(values['gen_ai.usage.input_tokens'])).toBeGreaterThan(10);
  expect(JSON.parse(String(values['gen_ai.output.messages']))).toMatchObject([
    {
      role: 'assistant',
      finish_reason: 'tool_call',
      parts: [{ type: 'text' }, { type: 'tool_call', name: 'add' }],
    },
  ]);
  expect(BigInt(String(first?.['startTimeUnixNano']))).toBeGreaterThanOrEqual(
    BigInt(Date.parse('2026-11-27T10:00:00Z')) * 1_000_000n,
  );
});

it('is read back by the reader of traces, with the reward as a score', async () => {
  const { file } = await follow(['e1']);
  const { keep, rubric, model } = { keep: 'all', rubric: null, model: {} as never } as const;
  const reader = createTracingReader({
    sources: [file],
    feedback: { filePath: null, goodFrom: 1 },
    filters: { keep, rubric, model },
    validation: { filePath: null },
    split: { evaluation: 0 },
    dir: path.join(scratch, 'kept'),
    onNotice: () => undefined,
  });
  const tasks: Task[] = [];
  for await (const task of reader.trainingTasks()) tasks.push(task);
  expect(tasks).toMatchObject([
    { mainQuery: 'What is 1 + 2? ü 🙂', metadata: { conversation: 'e1', is_good: false, feedback: { score: 0.5 } } },
  ]);
});

it('samples episodes by their ids, the same ones again', async () => {
  const ids = Array.from({ length: 12 }, (_, at) => `e${at}`);
  const chosen = async () =>
    new Set(
      (await spansOf((await follow(ids, { traceSample: 0.5 })).file)).map((span) => valuesOf(span)['session.id']),
    );
  const first = await chosen();
  expect(first.size).toBeGreaterThan(1);
  expect(first.size).toBeLessThan(12);
  expect(await chosen()).toEqual(first);
});

async function receive(status: number): Promise<{ server: Server; bodies: Buffer[]; types: unknown[] }> {
  const [bodies, types]: [Buffer[], unknown[]] = [[], []];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    types.push(request.url, request.headers['content-type']);
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      bodies.push(Buffer.concat(parts));
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { server, bodies, types };
}

it('sends to the receiver that the environment names', async () => {
  const { server, bodies, types } = await receive(200);
  const { notices } = await follow(['e1']);
  server.close();
  expect(notices).toEqual([]);
  expect(types).toEqual(['/v1/traces', 'application/x-protobuf']);
  for (const part of ['invoke_agent solver', 'openinference.span.kind', 'gen_ai.output.messages', 'shop'])
    expect(bodies[0]?.includes(part)).toBe(true);
});

it('says once that the receiver refuses', async () => {
  const { server } = await receive(400);
  const { notices } = await follow(['e1']);
  server.close();
  expect(notices).toEqual([expect.stringMatching(/^The tracker otlp has failed and gets no more/)]);
});
