import {
  openScriptedEpisode,
  toolCallText,
  extendsPrevious,
  type ScriptedEpisodeOptions,
} from '@agentjet/rollout/testing';
import {
  Agent,
  handoff,
  retryPolicies,
  Runner,
  setTracingDisabled,
  SystemError,
  tool,
  UserError,
  type AgentInputItem,
  type Model,
} from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asModel, type TunedAgentsModel } from './index.js';

setTracingDisabled(true);

const add = tool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
});
const odd = `<think>\nhard\n</think>\n\n Summing. ${toolCallText('add', '{"b": 2,  "a":1.0}')}${toolCallText('add', '{"a": 3,"b": 4}')}`;
const runner = new Runner({ toolNotFoundBehavior: 'return_error_to_model' });

function openAgent(replies: ScriptedEpisodeOptions['replies'], options: { readonly contextLength?: number } = {}) {
  const episode = openScriptedEpisode({ replies, ...options });
  const model = asModel(episode.tuner, { agentName: 'solver' });
  return { episode, model, agent: new Agent({ name: 'solver', instructions: 'Solve.', model, tools: [add] }) };
}

const request = {
  systemInstructions: 'Be brief.',
  input: 'hi',
  modelSettings: {},
  tools: [],
  handoffs: [],
  outputType: 'text' as const,
  tracing: false,
};

describe('one call', () => {
  it('answers with text, usage, finish reason and logprobs', async () => {
    const { model, episode } = openAgent(['hello there']);
    const response = await (model as Model).getResponse(request);
    const [seen] = episode.engine.requests;
    expect(response.output).toMatchObject([
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hello there' }],
      },
    ]);
    expect(response.usage).toMatchObject({
      requests: 1,
      inputTokens: seen?.request.promptIds.length,
      outputTokens: seen?.completion?.ids.length,
    });
    expect(response.providerData).toMatchObject({
      finishReason: 'stop',
      logprobs: { length: seen?.completion?.ids.length },
    });
  });

  it('passes sampling on, or refuses it by name', async () => {
    const { model, episode } = openAgent(['one two STOP three']);
    const modelSettings = {
      temperature: 0.5,
      topP: 0.9,
      maxTokens: 40,
      providerData: { seed: 3, topK: 7, stop: 'STOP' },
    };
    const response = await (model as Model).getResponse({ ...request, modelSettings });
    expect(episode.engine.requests[0]?.request.sampling).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      maxTokens: 40,
      seed: 3,
    });
    expect(response.output).toMatchObject([{ content: [{ text: 'one two ' }] }]);
    await expect((model as Model).getResponse({ ...request, modelSettings: { presencePenalty: 1 } })).rejects.toThrow(
      /presencePenalty is not supported/,
    );
    await expect((model as Model).getResponse({ ...request, previousResponseId: 'r' })).rejects.toBeInstanceOf(
      UserError,
    );
  });

  it('says that an answer was cut', async () => {
    const { model } = openAgent(['far too many words']);
    expect(await (model as Model).getResponse({ ...request, modelSettings: { maxTokens: 2 } })).toMatchObject({
      output: [{ status: 'incomplete' }],
      providerData: { finishReason: 'length' },
    });
  });
});

describe('a run', () => {
  it('continues exactly what the model wrote', async () => {
    const { agent, episode } = openAgent([odd, ' It is 3 and 7. ']);
    const result = await runner.run(agent, '1+2 and 3+4');
    expect(result.finalOutput).toBe(' It is 3 and 7. ');
    expect(episode.engine.requests).toHaveLength(2);
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('continues exactly when it was streamed, token by token', async () => {
    const { agent, episode } = openAgent([
      { text: odd, tokenDelayMs: 0 },
      { text: ' It is 3 and 7. ', tokenDelayMs: 0 },
    ]);
    const result = await runner.run(agent, '1+2 and 3+4', { stream: true });
    let text = '';
    let numRunning = 0;
    for await (const event of result) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') text += event.data.delta;
      numRunning = Math.max(numRunning, episode.engine.numRunning);
    }
    expect(numRunning).toBe(1);
    expect(text).toContain('Summing.');
    expect(text.endsWith(' It is 3 and 7. ')).toBe(true);
    expect(result.finalOutput).toBe(' It is 3 and 7. ');
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('continues exactly in the next question, also after its history went through JSON', async () => {
    const { agent, episode } = openAgent([odd, ' It is 3 and 7. ', 'welcome']);
    const first = await runner.run(agent, '1+2 and 3+4');
    const history = JSON.parse(JSON.stringify(first.history)) as AgentInputItem[];
    await runner.run(agent, [...history, { role: 'user', content: 'thanks' }]);
    expect(episode.engine.requests).toHaveLength(3);
    expect(episode.engine.requests[2]?.text).toContain('It is 3 and 7.');
  });

  it('hands over to another agent, whose model is its own', async () => {
    const episode = openScriptedEpisode({ replies: [toolCallText('transfer_to_bert', '{}'), 'I am Bert'] });
    const bert = new Agent({
      name: 'bert',
      instructions: 'You are Bert.',
      model: asModel(episode.tuner, { agentName: 'bert' }),
    });
    const anna = new Agent({
      name: 'anna',
      instructions: 'You are Anna.',
      model: asModel(episode.tuner, { agentName: 'anna' }),
      handoffs: [handoff(bert)],
    });
    const result = await runner.run(anna, 'hi');
    expect(result.finalOutput).toBe('I am Bert');
    expect(episode.engine.requests.map(({ text }) => /You are \w+/.exec(text)?.[0])).toEqual([
      'You are Anna',
      'You are Bert',
    ]);
    expect(
      episode
        .finish()
        .samples.map(({ agentName }) => agentName)
        .sort(),
    ).toEqual(['anna', 'bert']);
  });

  it('continues after an unknown tool if the runner says so, and ends in the SDK’s own error if not', async () => {
    const { agent, episode } = openAgent([toolCallText('nope', '{}'), 'sorry']);
    expect((await runner.run(agent, 'go')).finalOutput).toBe('sorry');
    expect(extendsPrevious(episode, 1)).toBe(true);
    expect(episode.finish().calls.unknownTools).toBe(1);
    for (const stream of [false, true]) {
      const strict = openAgent([toolCallText('nope', '{}'), 'sorry']);
      const run = async () =>
        stream
          ? (await new Runner().run(strict.agent, 'go', { stream: true })).completed
          : new Runner().run(strict.agent, 'go');
      await expect(run()).rejects.toThrow(/nope/);
      expect(strict.episode.finish()).toMatchObject({ samples: { length: 1 }, calls: { unknownTools: 1 } });
    }
  });

  it.each([false, true])('continues exactly after arguments that its tool refuses (streamed: %s)', async (stream) => {
    const { agent, episode } = openAgent([toolCallText('add', '{"a": "one",  "zzz": 1}'), 'sorry']);
    if (stream) await (await runner.run(agent, 'go', { stream: true })).completed;
    else await runner.run(agent, 'go');
    expect(episode.engine.requests).toHaveLength(2);
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('frees the slot when its stream is left', async () => {
    const { agent, episode } = openAgent([{ text: 'a long answer that nobody reads to its end', tokenDelayMs: 3 }]);
    for await (const event of await runner.run(agent, 'hi', { stream: true }))
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') break;
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('reads structured output', async () => {
    const episode = openScriptedEpisode({ replies: ['{"answer": 4}'] });
    const agent = new Agent({
      name: 'solver',
      model: asModel(episode.tuner, { agentName: 'solver' }),
      outputType: z.object({ answer: z.number() }),
    });
    expect((await runner.run(agent, '2+2')).finalOutput).toEqual({ answer: 4 });
    expect(episode.engine.requests[0]?.text).toContain('"answer"');
  });

  it('shows an edited turn as what it has become', async () => {
    const { agent, episode } = openAgent(['secret 42', 'ok']);
    const { history } = await runner.run(agent, 'hi');
    const edited = history.map((item) =>
      'role' in item && item.role === 'assistant'
        ? { ...item, content: [{ type: 'output_text' as const, text: 'redacted' }] }
        : item,
    );
    await runner.run(agent, [...edited, { role: 'user', content: 'go on' }]);
    expect(episode.engine.requests[1]?.text).toContain('redacted');
    expect(episode.engine.requests[1]?.text).not.toContain('42');
  });

  it('takes its model as a provider', async () => {
    const episode = openScriptedEpisode({ replies: ['by name'] });
    const modelProvider = asModel(episode.tuner, { agentName: 'solver' }) as TunedAgentsModel;
    const result = await new Runner({ modelProvider }).run(new Agent({ name: 'solver', model: 'any' }), 'hi');
    expect(result.finalOutput).toBe('by name');
  });
});

describe('errors', () => {
  it('are the SDK’s own, and an engine is asked once', async () => {
    const { agent, episode } = openAgent([{ text: '', error: new Error('device lost') }]);
    await expect(runner.run(agent, 'hi')).rejects.toBeInstanceOf(SystemError);
    expect(episode.engine.requests).toHaveLength(1);
    const small = openAgent(['fine'], { contextLength: 400 });
    await expect(runner.run(small.agent, 'word '.repeat(300))).rejects.toBeInstanceOf(UserError);
    expect((await runner.run(small.agent, 'hi')).finalOutput).toBe('fine');
  });

  it('are not retried if a policy asks the provider', async () => {
    const episode = openScriptedEpisode({ replies: [{ text: '', error: new Error('device lost') }, 'second'] });
    const modelSettings = {
      retry: {
        maxRetries: 2,
        policy: retryPolicies.any(retryPolicies.providerSuggested(), retryPolicies.networkError()),
      },
    };
    const agent = new Agent({ name: 'solver', model: asModel(episode.tuner, { agentName: 'solver' }), modelSettings });
    await expect(runner.run(agent, 'hi')).rejects.toThrow(/device lost/);
    expect(episode.engine.requests).toHaveLength(1);
  });

  it('abort by a timeout, which keeps its name', async () => {
    const controller = new AbortController();
    const { agent } = openAgent(
      () => (
        setTimeout(() => controller.abort(new DOMException('too late', 'TimeoutError')), 8),
        { text: 'slow answer', tokenDelayMs: 5 }
      ),
    );
    await expect(runner.run(agent, 'hi', { signal: controller.signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  it('abort, whole or streamed, and leave no sample', async () => {
    for (const stream of [false, true]) {
      const controller = new AbortController();
      const { agent, episode } = openAgent(
        () => (setTimeout(() => controller.abort(), 10), { text: 'a slow answer of several tokens', tokenDelayMs: 3 }),
      );
      if (stream) {
        const result = await runner.run(agent, 'hi', { stream: true, signal: controller.signal });
        await result.completed.catch(() => {});
      } else {
        await expect(runner.run(agent, 'hi', { signal: controller.signal })).rejects.toThrow();
      }
      await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
      expect(episode.finish().samples).toHaveLength(0);
    }
  });

  it('end a call with its episode', async () => {
    const { agent, episode } = openAgent(['late']);
    episode.end();
    await expect(runner.run(agent, 'hi')).rejects.toThrow(/has ended/);
  });

  it('refuse what cannot be shown to the model', async () => {
    const { agent } = openAgent(['x']);
    await expect(
      runner.run(agent, [{ role: 'user', content: [{ type: 'input_image', image: 'data:image/png;base64,AAAA' }] }]),
    ).rejects.toThrow(/input_image/);
  });
});

describe('asModel', () => {
  it('returns the debug model itself for a target that does not learn', () => {
    const { tuner } = openScriptedEpisode({ replies: ['x'], trainableTargets: ['other'] });
    expect(asModel(tuner, { agentName: 'a', debugModel: 'gpt-5' })).toBe('gpt-5');
    expect(() => asModel(tuner, { agentName: 'a' })).toThrow(/No model for agent "a"/);
  });
});
