import type { ChatModel, ChatRequest } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import { createScriptedEngine } from '../testing.js';
import { openEpisode, type OpenEpisode, type OpenEpisodeOptions, type WrapModel } from './open-episode.js';

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 100 };
const request: ChatRequest = { messages: [{ role: 'user', content: 'hi' }] };
const writer = { agentName: 'writer', targetTag: 'story' };

function open(options: Partial<OpenEpisodeOptions> = {}, signal?: AbortSignal): OpenEpisode {
  const engine = createScriptedEngine({ chatTokenizer, replies: ['hello'] });
  const policy = { kind: 'engine', engine, chatTokenizer } as const;
  return openEpisode({ policy, sampling, ...options }, { episodeId: 'e1', seed: 3, signal });
}

describe('an open episode', () => {
  it('gives out models without a workflow, and records their answers', async () => {
    const episode = open();
    await episode.createModel(writer).generate(request);
    expect(episode.record()).toMatchObject({ calls: { answered: 1 }, turns: [{ agentName: 'writer' }] });
    await episode.createModel(writer).generate(request);
    expect(episode.finish()).toMatchObject({
      calls: { answered: 2 },
      samples: [{ episodeId: 'e1', agentName: 'writer', targetTag: 'story' }, {}],
    });
  });

  it('passes the episode of each call to the engine', async () => {
    const engine = createScriptedEngine({ chatTokenizer, replies: ['hello'] });
    const episode = open({ policy: { kind: 'engine', engine, chatTokenizer } });
    for (const agent of [writer, { agentName: 'reader', targetTag: 'story' }])
      await episode.createModel(agent).generate(request);
    expect(engine.requests.map((each) => each.request.episodeId)).toEqual(['e1', 'e1']);
  });

  it('ends when it is finished, and then returns the same record again', async () => {
    const episode = open();
    const model = episode.createModel(writer);
    await model.generate(request);
    const first = episode.finish();
    await expect(model.generate(request)).rejects.toMatchObject({ code: 'closed' });
    expect(episode.finish()).toBe(first);
    expect(episode.signal.aborted).toBe(true);
  });

  it('keeps its record when it fails, and its models report the reason', async () => {
    const episode = open();
    const model = episode.createModel(writer);
    await model.generate(request);
    episode.fail(new Error('the lease is over'));
    await expect(model.generate(request)).rejects.toThrow('the lease is over');
    expect(episode.finish().samples).toHaveLength(1);
  });

  it('ends with the signal that it was opened with', async () => {
    const controller = new AbortController();
    const episode = open({}, controller.signal);
    controller.abort();
    await expect(episode.createModel(writer).generate(request)).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('wrapModel', () => {
  /** Allows one call for all models of an episode. */
  const oneCall: WrapModel = ({ episodeId }) => {
    let calls = 0;
    return (model, { agentName, targetTag }): ChatModel => ({
      name: model.name,
      generate: (asked, options) =>
        ++calls > 1
          ? Promise.reject(new Error(`${episodeId}: call ${calls}, by ${agentName} (${targetTag})`))
          : model.generate(asked, options),
    });
  };

  it('keeps its state for all agents of an episode, and starts again for the next episode', async () => {
    for (let repeat = 0; repeat < 2; repeat++) {
      const episode = open({ wrapModel: oneCall });
      await episode.createModel(writer).generate(request);
      const editor = episode.createModel({ agentName: 'editor', targetTag: 'critic' });
      await expect(editor.generate(request)).rejects.toThrow('e1: call 2, by editor (critic)');
    }
  });

  it('wraps all models of a tuner, including those behind its HTTP address, but no debug model', async () => {
    const served: ChatModel[] = [];
    const host = {
      open: ({ model }: { readonly model: ChatModel }) => {
        served.push(model);
        return { baseUrl: 'http://localhost/v1', apiKey: 'key', model: model.name };
      },
    };
    const tuner = open({ wrapModel: oneCall, endpointHost: host }).createTuner(['story']);
    tuner.asOpenAIEndpoint(writer);
    await served[0]?.generate(request);
    await expect(tuner.selectModel(writer, (model) => model).generate(request)).rejects.toThrow('call 2');
    const debugModel: ChatModel = { name: 'debug', generate: () => Promise.reject(new Error('asked the debug model')) };
    const other = tuner.selectModel({ agentName: 'editor', targetTag: 'critic', debugModel }, (model) => model);
    await expect(other.generate(request)).rejects.toThrow('asked the debug model');
  });
});
