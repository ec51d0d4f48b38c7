import { readFileSync } from 'node:fs';
import { createProgram } from '@agentjet/cli';
import { defaultKeyLimits, defaultLimits, defaultOpenEpisodes } from '@agentjet/swarm-server/testing';
import { claimRequestSchema, tasksRequestSchema } from '@agentjet/swarm-wire';
import { expect, it } from 'vitest';

const page = readFileSync('docs/operate-a-swarm.md', 'utf8');

it('each command of the page for operators exists, with its options', () => {
  const blocks = [...page.matchAll(/^```(?:\w*)\n(.*?)^```/gms)].map(([, block = '']) => block).join('\n');
  const inText = [...page.matchAll(/`(ajet swarm [^`]+)`/g)].map(([, command = '']) => command);
  const commands = [...blocks.split('\n').filter((line) => line.startsWith('ajet ')), ...inText];
  expect(commands.length).toBeGreaterThan(9);
  for (const line of commands) {
    const [, ...words] = line.replace(/ #.*/, '').trim().split(/\s+/);
    let command = createProgram(() => {});
    while (words[0] !== undefined) {
      const next = command.commands.find((each) => each.name() === words[0]);
      if (next === undefined) break;
      command = next;
      words.shift();
    }
    expect(command.name(), line).not.toBe('swarm');
    const options = command.options.flatMap(({ long }) => long ?? []);
    for (const word of words.filter((each) => each.startsWith('--'))) expect(options, line).toContain(word);
  }
});

it('the limits of the page are those of the code', () => {
  const { requests_per_second: requests, bytes_per_second: bytes, metadata_bytes: metadata } = defaultKeyLimits;
  const { event_streams: streams, metric_names: names } = defaultKeyLimits;
  expect(page).toContain(
    `${Number(requests).toLocaleString('en')} requests and ${Number(bytes) / 2 ** 20} MiB a second, ${defaultOpenEpisodes} running episodes, ${streams} event streams, ${names} names of metrics, ${Number(metadata) / 1024} KiB of metadata`,
  );
  const { maxBytes, maxDepth, maxMs } = defaultLimits;
  expect(page).toContain(`${maxBytes / 2 ** 20} MiB, ${maxDepth} levels deep, ${maxMs / 1000} seconds`);
  const tasks = Array.from({ length: 1001 }, (_none, index) => ({ task_id: `${index}`, index, hash: 'h' }));
  expect(tasksRequestSchema.safeParse({ tasks }).success).toBe(false);
  expect(tasksRequestSchema.safeParse({ tasks: tasks.slice(1) }).success).toBe(true);
  const claim = (more: object): boolean =>
    claimRequestSchema.safeParse({ claim_id: 'c', client: 'c', life: 'l', ...more }).success;
  expect([claim({ count: 64 }), claim({ count: 65 })]).toEqual([true, false]);
  expect([claim({ lease_seconds: 24 * 3600 }), claim({ lease_seconds: 24 * 3600 + 1 })]).toEqual([true, false]);
  expect([claim({ wait_seconds: 30 }), claim({ wait_seconds: 31 })]).toEqual([true, false]);
});
