import { openScriptedEpisode, toolCallText } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import type { FidelityAgent } from '../bench/fidelity/agent.js';
import { anthropicAgent } from '../bench/fidelity/agents/anthropic.js';
import { aiSdkAgent } from '../bench/fidelity/agents/ai-sdk.js';
import { googleAgent } from '../bench/fidelity/agents/google.js';
import { langgraphAgent } from '../bench/fidelity/agents/langgraph.js';
import { openaiAgent } from '../bench/fidelity/agents/openai.js';
import { openaiAgentsAgent } from '../bench/fidelity/agents/openai-agents.js';
import { reactAgent } from '../bench/fidelity/agents/react.js';

/** A model's mistake is an outcome of the episode. The outcome is the same with and without streaming. */
const faults: Readonly<Record<string, string>> = {
  'an unknown tool': toolCallText('nope', '{"a": 1}'),
  'an unknown tool next to a known one': toolCallText('add', '{"a": 1}') + toolCallText('nope', '{}'),
  'arguments that are not JSON': toolCallText('add', '{"a": 1, "b": '),
  'arguments that are not an object': toolCallText('add', '[1, 2]'),
  'a call without a name': '<tool_call>\n{"arguments": {}}\n</tool_call>',
  'a call that never closes': '<tool_call>\n{"name": "add", "arguments": {}}',
  nothing: '',
};

async function outcome<M>(agent: FidelityAgent<M>, fault: string, isStreamed: boolean) {
  const episode = openScriptedEpisode({ replies: [fault, 'sorry'].map((text) => ({ text, tokenDelayMs: 0 })) });
  await agent.converse(agent.native(episode.tuner), ['Go.'], isStreamed);
  const { samples, stats, calls } = episode.finish();
  return { prompts: episode.engine.requests.map(({ text }) => text), numSamples: samples.length, stats, calls };
}

function itIsTheSame<M>(agent: FidelityAgent<M>): void {
  it.each(Object.entries(faults))(`${agent.name}: %s`, async (_name, fault) => {
    const [whole, streamed] = [await outcome(agent, fault, false), await outcome(agent, fault, true)];
    expect(streamed).toEqual(whole);
    expect(whole.calls.answered).toBe(whole.prompts.length);
    expect([whole.numSamples, whole.stats.trainedTokens]).toEqual([1, whole.stats.generatedTokens]);
  });
}

describe('the same outcome, streamed or not, after', () => {
  itIsTheSame(reactAgent);
  itIsTheSame(openaiAgent);
  itIsTheSame(anthropicAgent);
  itIsTheSame(googleAgent);
  itIsTheSame(langgraphAgent);
  itIsTheSame(aiSdkAgent);
  itIsTheSame(openaiAgentsAgent);
});
