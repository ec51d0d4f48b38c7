import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentOutage } from '@agentjet/core';
import type { Box, BoxHost } from '@agentjet/sandbox/boxes';
import { asOutage, harborHostOf, lastLineOf } from './box-work.js';
import type { HarborTask } from './read-task.js';
import type { EnvironmentToml } from './task-schema.js';

/** Repeats a healthcheck until it passes. Does nothing if there is none. */
export async function waitUntilHealthy(
  { box, workdir }: { readonly box: Box; readonly workdir: string | undefined },
  {
    healthcheck,
    user,
    env,
    subject,
    task,
    engine,
    signal,
  }: {
    readonly healthcheck: EnvironmentToml['healthcheck'];
    readonly user: string | number | undefined;
    readonly env: Readonly<Record<string, string>>;
    /** What is asked, for messages. */
    readonly subject: string;
    readonly task: HarborTask;
    readonly engine: BoxHost;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  if (healthcheck === undefined || healthcheck === null) return;
  const { command, interval_sec, timeout_sec, start_period_sec, start_interval_sec, retries } = healthcheck;
  const started = performance.now();
  for (let failures = 0; ; ) {
    const isStarting = performance.now() - started < start_period_sec * 1000;
    const result = await asOutage(engine.name, () =>
      box.exec(['sh', '-c', command], {
        user,
        env,
        cwd: workdir,
        seconds: timeout_sec,
        outputCharacters: 1000,
        signal,
      }),
    );
    if (result.status === 0) return;
    if (!isStarting) failures++;
    if (failures >= retries)
      throw new EnvironmentOutage(
        `The healthcheck of ${subject} failed ${failures} times: ${command} (${lastLineOf(result)})`,
        { host: harborHostOf(task) },
      );
    await sleep((isStarting ? start_interval_sec : interval_sec) * 1000, undefined, { signal });
  }
}

/** The longest time that a healthcheck may take. */
export function healthSecondsOf(healthcheck: EnvironmentToml['healthcheck']): number {
  const { start_period_sec = 0, retries = 0, interval_sec = 0, timeout_sec = 0 } = healthcheck ?? {};
  return start_period_sec + retries * (interval_sec + timeout_sec);
}
