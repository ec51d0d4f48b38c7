import { readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { openLibrary } from './library.js';
import { lookUp, lookUpIn } from './look-workflow.js';
import { documentedPlaces, nameOf, writePage } from './write-documents.js';
import { openWriterModel } from './writer-model.js';

type Row = { readonly main_query: string; readonly metadata: { readonly answer: string; readonly document: string } };

function readTasks(name: string): readonly Row[] {
  const text = readFileSync(path.join(import.meta.dirname, 'tasks', `${name}.jsonl`), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

const call = (query: string): string =>
  `<tool_call>\n{"name": "search", "arguments": {"query": "${query}"}}\n</tool_call>`;

const task = { taskId: 'a', mainQuery: 'How high is the mill of Kelo?', initMessages: [], metadata: {} };

it('has the documents that write-documents.ts writes', () => {
  const folder = path.join(import.meta.dirname, 'documents');
  expect(readdirSync(folder)).toHaveLength(documentedPlaces.length);
  for (const place of documentedPlaces)
    expect(readFileSync(path.join(folder, `${nameOf(place).toLowerCase()}.md`), 'utf8')).toBe(writePage(place));
});

it('finds the sentence that has the name and the word, and otherwise what has one of them', () => {
  const library = openLibrary([
    '# The mill of Kelo\n\nIt was built in 1601. It is 31 metres high. The colour is red.',
    '# The tower of Baru\n\nIt is 40 metres high. The colour is green.',
  ]);
  expect(library.search('Kelo high')[0]).toBe('The mill of Kelo: It is 31 metres high.');
  expect(library.search('Kelo')).toEqual([
    'The mill of Kelo: It was built in 1601.',
    'The mill of Kelo: It is 31 metres high.',
  ]);
  expect(library.search('whale')).toEqual([]);
});

it('shows the agent what it found, and returns what it says', async () => {
  const library = openLibrary(['# The mill of Kelo\n\nIt is 31 metres high.']);
  const { tuner, engine } = openScriptedEpisode({ replies: [call('Kelo high'), '31'] });
  expect(await lookUpIn(library)(task, tuner)).toEqual({ metadata: { answer: '31' } });
  expect(engine.requests[1]?.text).toContain('The mill of Kelo: It is 31 metres high.');
});

it('asks in evaluation about documents that training never asks about, and each answer can be found', async () => {
  const [training, evaluation] = [readTasks('training'), readTasks('evaluation')];
  const asked = new Set(training.map(({ metadata }) => metadata.document));
  expect(evaluation.filter(({ metadata }) => asked.has(metadata.document))).toEqual([]);
  for (const { main_query: mainQuery, metadata } of evaluation.slice(0, 12)) {
    const { tuner, engine } = openScriptedEpisode({ replies: [call(mainQuery), 'done'] });
    await lookUp({ ...task, mainQuery }, tuner);
    expect(engine.requests[1]?.text).toContain(metadata.answer);
  }
});

it('has a writer that asks about what a passage says, and answers from it', async () => {
  const server = await openWriterModel(0);
  const { port } = server.address() as AddressInfo;
  const ask = async (data: object): Promise<Record<string, string>> => {
    const messages = [{ content: '' }, { content: JSON.stringify(data) }];
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages }),
    });
    const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };
    return JSON.parse(choices[0].message.content) as Record<string, string>;
  };
  const passage = '# The mill of Kelo\n\nIt was built in 1601. It is 31 metres high.';
  const first = await ask({ passage, asked_already: [] });
  expect(first).toEqual({
    question: 'When was the mill of Kelo built?',
    answer: '1601',
    evidence: 'It was built in 1601.',
  });
  expect(await ask({ passage, asked_already: [first['question']] })).toMatchObject({ answer: '31' });
  expect(await ask({ question: 'How high is the mill of Kelo?', passage })).toEqual({ answer: '31' });
  expect(await ask({ question: 'How high is the mill of Kelo?' })).toEqual({ answer: 'unknown' });
  server.close();
});
