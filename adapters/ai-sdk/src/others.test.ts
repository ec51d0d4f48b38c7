import { openScriptedEpisode } from '@agentjet/rollout/testing';
import type { LanguageModelV3CallOptions } from '@ai-sdk/provider';
import { generateObject, generateText, type ModelMessage, pruneMessages, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asModel, type TunedLanguageModel } from './index.js';

function open(reply = 'ok') {
  const episode = openScriptedEpisode({ replies: [reply] });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) as TunedLanguageModel };
}

it('the description of a schema reaches the model', async () => {
  const { model, episode } = open('{"answer": 4}');
  const schema = z.object({ answer: z.number() });
  await generateObject({ model, prompt: '2+2', schema, schemaName: 'sum', schemaDescription: 'The sum of both.' });
  expect(episode.engine.requests[0]?.text).toContain('The sum of both.');
});

it('examples of the input of a tool are counted, and warned of', async () => {
  const { model, episode } = open();
  const add = tool({ inputSchema: z.object({ a: z.number() }), inputExamples: [{ input: { a: 1 } }] });
  const { warnings } = await generateText({ model, prompt: 'hi', tools: { add } } as unknown as Parameters<
    typeof generateText
  >[0]);
  expect(warnings).toEqual([{ type: 'unsupported', feature: 'tools[].inputExamples' }]);
  expect(episode.finish().ignoredParameters).toEqual({ solver: { 'tools[].inputExamples': 1 } });
});

it('an option of ours that is not known is refused by its name', async () => {
  const { model, episode } = open();
  const providerOptions = { agentjet: { topk: 5 }, openai: { anything: 1 } };
  await expect(generateText({ model, prompt: 'hi', providerOptions })).rejects.toThrow(
    'The option "providerOptions.agentjet.topk" is not known to this model. Use parallelToolCalls, train, requestId',
  );
  expect(episode.engine.requests).toHaveLength(0);
});

describe('answers of other models in a prompt', () => {
  const said = { type: 'text', text: 'I looked.' };
  const ask = async (parts: readonly object[]) => {
    const { model, episode } = open();
    const prompt = [
      { role: 'assistant', content: [...parts, said] },
    ] as unknown as LanguageModelV3CallOptions['prompt'];
    const { warnings } = await model.doGenerate({ prompt });
    const { solver = {} } = episode.finish().ignoredParameters;
    return { text: episode.engine.requests[0]?.text ?? '', ignored: Object.keys(solver), warnings };
  };

  it('are shown without their files, and without what their provider did', async () => {
    const file = { type: 'file', data: 'AAAA', mediaType: 'image/png' };
    const search = { type: 'tool-call', toolCallId: 's', toolName: 'search', input: {}, providerExecuted: true };
    const found = { type: 'tool-result', toolCallId: 's', toolName: 'search', output: { type: 'json', value: [] } };
    const { text, ignored, warnings } = await ask([file, file, search, found]);
    expect(text).toContain('I looked.');
    expect(text).not.toContain('search');
    expect(ignored).toEqual(['prompt: file', 'prompt: tool-call of a provider', 'prompt: tool-result']);
    expect(warnings).toHaveLength(3);
  });

  it('are not joined with a turn of the model that follows them in one message', async () => {
    const episode = openScriptedEpisode({ replies: ['first', 'second'] });
    const model = asModel(episode.tuner, { agentName: 'solver' }) as TunedLanguageModel;
    const question = { role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] };
    const { content } = await model.doGenerate({ prompt: [question] });
    const own = content.flatMap((part) =>
      part.type === 'text' ? [{ type: 'text', text: part.text, providerOptions: part.providerMetadata }] : [],
    );
    const merged = { role: 'assistant', content: [said, ...own] } as never;
    await model.doGenerate({ prompt: [question, merged, question] });
    expect(episode.engine.requests[1]?.text).toMatch(/assistant\nI looked\.<.*assistant\nfirst</s);
  });
});

it.each([false, true])('thinking that came in a stream stays in its turn (pruned: %s)', async (isPruned) => {
  const thinking = `<think>\na thought\n</think>\n\nSo: <tool_call>\n{"name": "add", "arguments": {"a":  1}}\n</tool_call>`;
  const historyPolicy = isPruned ? 'as_sent' : 'as_generated';
  const episode = openScriptedEpisode({ replies: [{ text: thinking, tokenDelayMs: 0 }, 'ok'], historyPolicy });
  const model = asModel(episode.tuner, { agentName: 'solver' });
  const add = tool({ inputSchema: z.object({ a: z.number() }), execute: () => '3' });
  const prune = ({ messages }: { readonly messages: ModelMessage[] }) => ({
    messages: isPruned ? pruneMessages({ messages, reasoning: 'all' }) : messages,
  });
  await streamText({ model, prompt: 'go', tools: { add }, stopWhen: stepCountIs(2), prepareStep: prune }).text;
  const [first, second] = episode.engine.requests.map(({ request, completion }) => ({ request, completion }));
  const seen = [...(first?.request.promptIds ?? []), ...(first?.completion?.ids ?? [])];
  const prompt = [...(second?.request.promptIds ?? [])];
  expect(prompt.length).toBeGreaterThan(0);
  expect(seen.every((id, at) => prompt[at] === id)).toBe(!isPruned);
  expect(episode.engine.requests[1]?.text.includes('a thought')).toBe(!isPruned);
});

it('content that is not a list of parts is refused in words', async () => {
  for (const content of [5, 'text', [7], null]) {
    const { model } = open();
    const prompt = [{ role: 'user', content }] as unknown as LanguageModelV3CallOptions['prompt'];
    await expect(model.doGenerate({ prompt })).rejects.toThrow(
      `The content of a user message is ${JSON.stringify(content)}. A prompt of the AI SDK has a list of parts there`,
    );
  }
});
