import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseJsonObject } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled, pythonOf } from '../../../.ci/python-environment.mjs';
import { root } from '../../../.ci/workspaces.mjs';
import { runAjet } from '../../e2e/support/run-ajet.js';
import { freePort } from '../../swarm/free-port.js';

/**
 * This test is part of `.ci/nightly trackers`. Phoenix from PyPI receives the episodes of a short run as traces. It is
 * skipped, by name, if Phoenix is not installed or does not start here.
 */
const isAsked = isInstalled(import.meta.dirname) && process.env['AJET_LONG_TESTS'] === '1';

/** Starts Phoenix. Returns undefined if it does not answer within two minutes. */
async function startPhoenix(dir: string): Promise<{ readonly url: string; readonly child: ChildProcess } | undefined> {
  const [port, grpcPort] = [await freePort(), await freePort()];
  const program = path.join(path.dirname(pythonOf(import.meta.dirname)), 'phoenix');
  const env = {
    ...process.env,
    PHOENIX_WORKING_DIR: dir,
    PHOENIX_HOST: '127.0.0.1',
    PHOENIX_PORT: String(port),
    PHOENIX_GRPC_PORT: String(grpcPort),
    PHOENIX_TELEMETRY_ENABLED: 'false',
  };
  const child = spawn(program, ['serve'], { env, stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 120 && child.exitCode === null; tries++) {
    const isUp = await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return { url, child };
    await sleep(1000);
  }
  child.kill();
  return undefined;
}

type PhoenixSpan = {
  readonly name: string;
  readonly span_kind: string;
  readonly parent_id: string | null;
  readonly context: { readonly trace_id: string };
  readonly attributes: Readonly<Record<string, unknown>>;
};

async function readSpans(url: string): Promise<readonly PhoenixSpan[]> {
  const response = await fetch(`${url}/v1/projects/tutorial/spans?limit=1000`);
  if (!response.ok) return []; // Phoenix makes the project with its first spans, a moment after it has taken them
  return ((await response.json()) as { readonly data?: readonly PhoenixSpan[] }).data ?? [];
}

describe.skipIf(!isAsked)('Phoenix', { timeout: 300_000 }, () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'phoenix-'));
  let phoenix: Awaited<ReturnType<typeof startPhoenix>>;
  beforeAll(async () => {
    phoenix = await startPhoenix(dir);
  }, 180_000);
  afterAll(async () => {
    phoenix?.child.kill();
    await sleep(500);
    rmSync(dir, { recursive: true, force: true });
  });

  it('shows the episodes of a run as traces of agents, model calls and tools', async ({ skip }) => {
    if (phoenix === undefined) return skip('Phoenix does not start on this machine');
    const { url } = phoenix;
    const { stdout, stderr } = await runAjet(
      dir,
      [
        `--conf=${path.join(root, 'tutorial/frozen-lake/frozen_lake.yaml')}`,
        '--json',
        'trainer_common.total_training_steps=1',
        'trainer_common.val_before_train=false',
        'trainer_common.logger=[otlp]',
        'data.train_batch_size=2',
        'rollout.num_repeat=4',
        `experiment_dir=${dir}/runs`,
      ],
      { env: { OTEL_EXPORTER_OTLP_ENDPOINT: url }, timeoutMs: 240_000 },
    );
    expect(stderr).not.toContain('The tracker otlp');
    const folder = path.join(String(parseJsonObject(stdout.trim())?.['run_dir']), 'episodes');
    const lines = readdirSync(folder).flatMap((name) =>
      readFileSync(path.join(folder, name), 'utf8').trim().split('\n'),
    );
    const episodes = lines.map((line) => JSON.parse(line)).filter(({ phase }) => phase === 'train');
    const calls = episodes.reduce((sum, { turns }) => sum + turns.length, 0);
    let spans = await readSpans(url);
    for (let tries = 0; tries < 60 && count(spans, 'LLM') < calls; tries++) {
      await sleep(500);
      spans = await readSpans(url);
    }
    expect(episodes.length).toBe(8);
    expect([count(spans, 'CHAIN'), count(spans, 'LLM')]).toEqual([8, calls]);
    expect(new Set(spans.map(({ context }) => context.trace_id)).size).toBe(8);
    expect(spans.filter(({ parent_id: parent }) => parent === null).map(({ name }) => name)).toEqual(
      Array(8).fill('episode'),
    );
    const call = spans.find(({ span_kind: kind }) => kind === 'LLM');
    expect(call?.attributes).toMatchObject({
      'llm.model_name': 'nano',
      'llm.output_messages.0.message.role': 'assistant',
      'gen_ai.operation.name': 'chat',
    });
  });
});

const count = (spans: readonly PhoenixSpan[], kind: string): number =>
  spans.filter(({ span_kind: each }) => each === kind).length;
