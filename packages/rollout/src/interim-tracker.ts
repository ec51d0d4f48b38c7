import type { Completion, Sample, ToolCall } from '@agentjet/core';
import type { AgentIdentity, ContextTracker, Turn } from '@agentjet/context-tracker';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/** One sample per call, nothing shared: until the context tracker is there. */
export function createContextTracker({ episodeId, chatTokenizer }: { readonly episodeId: string; readonly chatTokenizer: ChatTokenizer }): ContextTracker {
  const { tokenizer, template } = chatTokenizer;
  const samples: Sample[] = [];
  let calls = 0;
  let generatedTokens = 0;
  const toCommitted = (id: string, completion: Completion): ReturnType<Turn['commit']> => {
    const isStopped = template.stopIds.includes(completion.ids.at(-1) ?? -1);
    const reply = template.parse(tokenizer.decode(isStopped ? completion.ids.slice(0, -1) : completion.ids));
    const toolCalls: ToolCall[] = reply.toolCalls.map((call, index) => ({ id: `${id}-${index}`, ...call }));
    const extra = { ...(reply.reasoning === undefined ? {} : { reasoning: reply.reasoning }), ...(toolCalls.length === 0 ? {} : { toolCalls }) };
    return {
      message: { role: 'assistant', content: reply.content, ...extra },
      finishReason: completion.finishReason === 'length' ? 'length' : toolCalls.length > 0 ? 'tool_calls' : 'stop',
      malformedToolCalls: reply.malformedToolCalls,
      tokenTexts: Array.from(completion.ids, (token) => tokenizer.decode([token])),
    };
  };
  return {
    begin: (agent, request) => {
      const id = `call-${episodeId}-${calls++}`;
      const promptIds = tokenizer.encode(template.render(request.messages, { ...(request.tools === undefined ? {} : { tools: request.tools }), addGenerationPrompt: true }));
      return {
        id,
        promptIds,
        stopIds: template.stopIds,
        reusedTokens: 0,
        fork: undefined,
        createStream: (onDelta) => {
          const decoder = tokenizer.createStreamDecoder();
          const parser = template.createStreamParser((index) => `${id}-${index}`);
          return {
            push: (token) => {
              if (!template.stopIds.includes(token)) parser.push(decoder.push(token)).forEach(onDelta);
            },
            flush: () => {
              parser.push(decoder.flush()).forEach(onDelta);
              parser.flush().deltas.forEach(onDelta);
            },
          };
        },
        commit: (completion) => {
          generatedTokens += completion.ids.length;
          samples.push(toSample({ episodeId, agent }, promptIds, completion));
          return toCommitted(id, completion);
        },
      };
    },
    finish: () => samples,
    stats: () => ({ calls, generatedTokens, trainedTokens: generatedTokens, samples: samples.length, forks: {}, splices: {}, foreignMessages: {} }),
  };
}

function toSample({ episodeId, agent }: { readonly episodeId: string; readonly agent: AgentIdentity }, promptIds: Int32Array, completion: Completion): Sample {
  const start = promptIds.length;
  const length = start + completion.ids.length;
  const sample = {
    episodeId,
    ...agent,
    ids: new Int32Array(length),
    lossMask: new Uint8Array(length).fill(1, start),
    logprobs: new Float32Array(length),
    policyVersions: new Int32Array(length).fill(-1, 0, start).fill(completion.policyVersion, start),
    advantages: new Float32Array(length),
  };
  sample.ids.set(promptIds);
  sample.ids.set(completion.ids, start);
  sample.logprobs.set(completion.logprobs, start);
  return sample;
}
