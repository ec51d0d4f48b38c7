import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { asModel } from '@agentjet/react';
import { toTurnRecord } from '@agentjet/context-tracker';
import type { ChatMessage } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';
import { openScriptedEpisode, toolCallText } from '@agentjet/rollout/testing';
import { createRunFolder, type EpisodeRecord, type RunFolder, toSampleRecord } from '@agentjet/run-folder';
import { loadChatTokenizer } from '@agentjet/tokenizer';

const call = (args: string): string => toolCallText('add', args);
const tools = [{ name: 'add', description: 'Adds.', parameters: { type: 'object', properties: {} } }];

/**
 * Records episodes with the tokenizer of nano: two agents, thinking, calls in odd spelling and at once, their results, a
 * fork after an edited history, an answer that is cut, and an answer of another model.
 */
export async function recordEpisode(episodeId: string): Promise<EpisodeRecord> {
  const chatTokenizer = await loadChatTokenizer(nanoModelDir);
  const episode = openScriptedEpisode({
    chatTokenizer,
    replies: [`Sum. ${call('{"a": 1.0,  "b":2}')}\n${call('[1')}`, 'three', 'other', 'far too many words here', 'hm'],
  });
  const [solver, critic] = [
    asModel(episode.tuner, { agentName: 'solver' }),
    asModel(episode.tuner, { agentName: 'critic', targetTag: 'team' }),
  ];
  const system: ChatMessage = { role: 'system', content: 'You add.' };
  const asked: readonly ChatMessage[] = [system, { role: 'user', content: 'What is 1 + 2? ü 🙂' }];
  const { message } = await solver.generate({ messages: asked, tools });
  const results = (message.toolCalls ?? []).map(
    ({ id }, at): ChatMessage => ({ role: 'tool', toolCallId: id, content: `result ${at}` }),
  );
  await solver.generate({ messages: [...asked, message, ...results], tools });
  await solver.generate({ messages: [...asked, { role: 'user', content: 'Again.' }], tools });
  await critic.generate({ messages: [system, { role: 'user', content: 'Judge.' }], sampling: { maxTokens: 2 } });
  const foreign: ChatMessage = { role: 'assistant', content: 'I am another model.' };
  await critic.generate({
    messages: [system, { role: 'user', content: 'x' }, foreign, { role: 'user', content: 'y' }],
  });
  const { samples, turns } = episode.finish();
  return {
    episode_id: episodeId,
    task_id: 't1',
    status: 'completed',
    reward: 0.5,
    is_success: false,
    began_at: '2026-11-27T10:00:00.000Z',
    turns: turns.map(toTurnRecord),
    samples: samples.map((sample, at) => ({
      ...toSampleRecord(sample),
      advantages:
        sample.lossMask.length === 0 ? [] : Array.from(sample.lossMask, (mask) => (mask === 1 ? 0.25 - at : 0)),
    })),
  };
}

/** Makes a run with one step of these episodes. */
export async function recordRun(scratch: string, records: readonly EpisodeRecord[]): Promise<RunFolder> {
  const run = await createRunFolder({
    experimentDir: await mkdtemp(path.join(scratch, 'run-')),
    experimentName: 'e',
    configYaml: 'ajet:\n  model:\n    path: nano\n',
  });
  await run.recordStep({ step: 1 }, records);
  return run;
}
