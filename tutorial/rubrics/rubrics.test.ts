import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { calibrateJudge, createRubricsJudge, learnRubrics, readLabelledExamples } from '@agentjet/judges';
import { openModelClient } from '@agentjet/model-client';
import { expect, it } from 'vitest';
import { openJudgeServer } from './judge-model.js';
import { drawAnswers, files, hiddenScore, toLines } from './write-answers.js';

const fileOf = (name: string): string => path.join(import.meta.dirname, name);
const { signal } = new AbortController();

it('has files that write-answers.ts has written, with all kinds of scores', () => {
  for (const [name, answers] of Object.entries(files))
    expect(readFileSync(fileOf(name), 'utf8')).toBe(toLines(answers));
  const scores = drawAnswers(100, 3).map(({ answer }) => hiddenScore(answer));
  expect(new Set(scores).size).toBeGreaterThan(5);
});

it('learns rubrics from twenty scored answers that follow the hidden score of a hundred others', async () => {
  const server = await openJudgeServer(0);
  const { port } = server.address() as AddressInfo;
  const limits = {
    maxConcurrent: 8,
    requestsPerMinute: null,
    tokensPerMinute: null,
    timeoutSeconds: 60,
    maxRetries: 0,
  };
  const client = await openModelClient({
    baseUrl: `http://127.0.0.1:${port}/v1`,
    model: 'judge',
    keys: ['PATH'],
    backupKeys: [],
    limits,
    cacheFile: null,
  });
  const learning = { maxCriteria: 5, heldOut: 0.3, maxTokens: 800, signal };
  const { criteria } = await learnRubrics(client, readLabelledExamples(fileOf('scored.jsonl')), learning);
  const names = criteria.toSorted((a, b) => b.weight - a.weight).map(({ name }) => name);
  expect(names.slice(0, 2).toSorted()).toEqual(['next_step', 'order_number']);
  const judge = createRubricsJudge(client, {
    criteria,
    votes: 1,
    temperature: 0,
    maxTokens: 800,
    successFrom: 0.7,
    outputField: 'answer',
    agent: null,
    onOutage: 'pause',
  });
  const others = readLabelledExamples(fileOf('others.jsonl'));
  const report = await calibrateJudge(judge, others, { successFrom: 0.7, parallel: 8, signal });
  server.close();
  expect(report).toMatchObject({ examples: 100, failed: 0 });
  expect(report.rankCorrelation).toBeGreaterThanOrEqual(0.8);
});
