import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type AtifDocument, readTrajectory, toConversations, toTokenRow } from '@agentjet/atif';
import { type JsonObject } from '@agentjet/core';
import { writeAtif } from '@agentjet/inspect';
import type { EpisodeRecord } from '@agentjet/run-folder';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordEpisode, recordRun } from './recorded-run.js';

const oursOf = ({ extra = {} }: Pick<AtifDocument, 'extra'>): JsonObject => (extra['agentjet'] ?? {}) as JsonObject;
const hasCalls = ({ steps }: AtifDocument): boolean => steps.some(({ tool_calls: calls }) => calls !== undefined);

let scratch = '';
let record: EpisodeRecord;
let documents: readonly AtifDocument[] = [];

beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'atif-'));
  record = await recordEpisode('e1-t1-r0');
  const run = await recordRun(scratch, [record, { ...record, episode_id: 'e1-t1-r1', samples: [], turns: [] }]);
  const target = path.join(scratch, 'atif');
  expect(await writeAtif(run.dir, target)).toEqual({ episodes: 2, documents: record.samples.length, empty: 1 });
  const files = (await readdir(target)).toSorted();
  documents = await Promise.all(
    files.map(async (file) => readTrajectory(JSON.parse(await readFile(path.join(target, file), 'utf8')))),
  );
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

describe('an episode as trajectories', () => {
  it('has a document for each agent and each fork, with separate ids', () => {
    expect(documents.map(({ agent }) => agent.name).toSorted()).toEqual(['critic', 'critic', 'solver', 'solver']);
    expect(new Set(documents.map(({ trajectory_id: id }) => id)).size).toBe(4);
    expect(documents.map(({ session_id: id }) => id)).toEqual(Array(4).fill('e1-t1-r0'));
    const forks = documents.flatMap((document) => oursOf(document)['fork_of'] ?? []);
    expect(forks.map(String).toSorted()).toEqual(['e1-t1-r0/critic/0', 'e1-t1-r0/solver/0']);
  });

  it('gives back each row bit for bit', () => {
    const rows = record.samples.map(({ agent_name: _agent, target_tag: _target, ...row }) => row);
    expect(documents.map(toTokenRow)).toEqual(rows);
  });

  it('keeps ids and logprobs in the metrics of the calls, and not a second time', () => {
    for (const document of documents) {
      expect(Object.keys(oursOf(document)['row'] as JsonObject).toSorted()).toEqual([
        'advantages',
        'loss_mask',
        'policy_versions',
      ]);
    }
    const trained = documents.flatMap(({ steps }) =>
      steps.flatMap(({ metrics }) => metrics?.completion_token_ids ?? []),
    );
    expect(trained).toHaveLength(
      record.samples.flatMap(({ loss_mask: mask }) => mask.filter((each) => each === 1)).length,
    );
  });

  it('shows messages, calls in the spelling of the model, results and what was cut', () => {
    const solver = documents.find(hasCalls);
    expect(solver?.steps.map(({ source }) => source)).toEqual(['system', 'user', 'agent', 'agent']);
    expect(solver?.steps[1]?.message).toContain('What is 1 + 2? ü 🙂');
    const step = solver?.steps[2];
    expect(step?.tool_calls?.[0]).toMatchObject({
      function_name: 'add',
      arguments: { a: 1, b: 2 },
      extra: { arguments_text: '{"a": 1.0,  "b":2}' },
    });
    expect(step?.observation?.results[0]).toMatchObject({
      source_call_id: step?.tool_calls?.[0]?.tool_call_id,
      content: expect.stringContaining('result 0'),
    });
    const critics = documents.filter(({ agent }) => agent.name === 'critic').flatMap(({ steps }) => steps);
    const cut = critics.filter((step) => oursOf(step)['is_truncated'] === true);
    expect(cut).toHaveLength(1);
    expect(critics).toContainEqual(
      expect.objectContaining({ message: 'I am another model.', is_copied_context: true }),
    );
  });

  it('becomes conversations again, in which only own answers are imitated', () => {
    const [line] = toConversations(documents.find(({ agent }) => agent.name === 'critic') as AtifDocument);
    expect(line).toMatchObject({ agent: 'critic', target: 'team', episode_id: 'e1-t1-r0', reward: 0.5, task_id: 't1' });
    const solver = documents.find(hasCalls);
    const messages = toConversations(solver as AtifDocument)[0]?.['messages'] as readonly JsonObject[];
    expect(messages.find(({ tool_calls: calls }) => calls !== undefined)).toMatchObject({
      tool_calls: [{ function: { name: 'add', arguments: '{"a": 1.0,  "b":2}' } }],
    });
  });
});
