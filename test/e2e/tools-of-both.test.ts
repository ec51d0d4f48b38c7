import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetJob, configuration, type JobEvent, openTunedModel, type Task, type Tuner } from 'agentjet';
import { exportTunedModel } from '@agentjet/models';
import type { ChatMessage, ChatModel, ChatRequest } from '@agentjet/core';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { beforeAll, describe, expect, it } from 'vitest';
import { createScratchFolder } from './support/job-folder.js';
import { readEpisodes } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

/** A run and a swarm train a model whose chat template does not support tools. */

const createConfig = (modelDir: string, model: { readonly tools?: 'refuse' | 'system' } = {}) => ({
  experimentDir: createScratchFolder(),
  experimentName: 'tools',
  model: { path: modelDir, ...model },
  data: { trainBatchSize: 1, maxPromptLength: 1200, maxResponseLength: 64 },
  rollout: { numRepeat: 2, maxModelLen: 1400, maxResponseLengthInOneTurn: 4 },
  trainerCommon: { totalTrainingSteps: 1, valBeforeTrain: false, maxEmptySteps: null, maxPackTokens: 1400 },
  onnx: { numThreads: 1 },
});

const tasks: readonly Task[] = [{ taskId: 't', mainQuery: 'Rain?', initMessages: [], metadata: {} }];

/** One answer after a call and its result. */
const request: ChatRequest = {
  messages: [
    { role: 'user', content: 'Rain?' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'call00001', name: 'get_weather', arguments: '{"a": 1}' }] },
    { role: 'tool', content: 'Yes.', toolCallId: 'call00001' },
  ] satisfies readonly ChatMessage[],
  tools: [{ name: 'get_weather', description: 'Says "é".', parameters: { type: 'object', properties: {} } }],
};

function createWorkflow() {
  let numEnded = 0;
  return async (_task: Task, tuner: Tuner): Promise<{ readonly reward: number }> => {
    await tuner.selectModel<ChatModel>({ agentName: 'a' }, (model) => model).generate(request);
    return { reward: numEnded++ % 2 };
  };
}

type Config = ReturnType<typeof createConfig>;
type Trained = { readonly runDir: string; readonly notices: readonly string[] };

async function trainAlone(config: Config): Promise<Trained> {
  const notices: string[] = [];
  const job = new AgentJetJob({ config }).setWorkflow(createWorkflow()).setData({ training: tasks });
  const { runDir } = await job.tune({
    onEvent: (event) => void (event.type === 'notice' && notices.push(event.message)),
  });
  return { runDir: String(runDir), notices };
}

async function trainInSwarm(given: Config): Promise<Trained> {
  const notices: string[] = [];
  const config = configuration.create(given);
  const onNotice = (message: string): void => void notices.push(message);
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice });
  try {
    const swarm = new SwarmClient({ url: served.server.url, key: served.server.firstKey });
    await swarm.run(createWorkflow(), { tasks, parallel: 2 });
  } finally {
    await served.close();
  }
  return { runDir: served.runDir, notices };
}

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'), 'plain', 2048);
});

type SampleRow = { readonly ids: readonly number[]; readonly loss_mask: readonly number[] };

describe.each([
  ['an ordinary run', trainAlone],
  ['a swarm', trainInSwarm],
])('%s', (_name, train) => {
  let trained: Trained;
  beforeAll(async () => {
    trained = await train(createConfig(modelDir));
  });

  it('says once that tools are written into the system prompt', () => {
    const said = trained.notices.filter((message) => message.includes('does not support tools'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('model.tools=refuse');
  });

  it('trains the prompt that a checkpoint and an export print by themselves', async () => {
    const checkpoint = path.join(trained.runDir, 'checkpoints', 'step-000001');
    const { dir: exported } = await exportTunedModel(trained.runDir, path.join(createScratchFolder(), 'exported'), {});
    const samples = readEpisodes(trained.runDir).flatMap((row) => row['samples'] as readonly SampleRow[]);
    expect(samples).toHaveLength(2);
    for (const dir of [checkpoint, exported]) {
      const { tokenizer, template, changedTemplate } = await loadChatTokenizer(dir);
      expect(changedTemplate).toBeUndefined();
      const { tools = [], messages } = request;
      const prompt = [...tokenizer.encode(template.render(messages, { tools, addGenerationPrompt: true }))];
      for (const { ids, loss_mask: mask } of samples) expect(ids.slice(0, mask.indexOf(1))).toEqual(prompt);
    }
    const { chat_template: inConfig } = JSON.parse(
      readFileSync(path.join(exported, 'tokenizer_config.json'), 'utf8'),
    ) as { readonly chat_template: string };
    expect(inConfig).toBe(readFileSync(path.join(exported, 'chat_template.jinja'), 'utf8'));
  });
});

it('a trained model that is opened again shows tools without a word', async () => {
  const { runDir } = await trainAlone(createConfig(modelDir, { tools: 'system' }));
  const notices: string[] = [];
  const tuned = await openTunedModel(runDir, {
    maxModelLen: 1400,
    maxTokens: 4,
    onNotice: (text) => notices.push(text),
  });
  try {
    const { usage } = await tuned.selectModel<ChatModel>({ agentName: 'a' }, (model) => model).generate(request);
    const [sample] = readEpisodes(runDir).flatMap((row) => row['samples'] as readonly SampleRow[]);
    expect(usage.promptTokens).toBe(sample?.loss_mask.indexOf(1));
    expect(notices).toEqual([]);
  } finally {
    await tuned.close();
  }
});

it.each(['strict', 'lenient'] as const)(
  'imitation teaches calls with their tags, if reading is %s',
  async (toolCalls) => {
    const folder = createScratchFolder();
    const transcripts = path.join(folder, 'transcripts.jsonl');
    const call = { id: 'call00001', type: 'function', function: { name: 'get_weather', arguments: '{"a": 1}' } };
    const messages = [
      { role: 'user', content: 'Rain?' },
      { role: 'assistant', content: null, tool_calls: [call] },
    ];
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }];
    writeFileSync(transcripts, `${JSON.stringify({ messages, tools })}\n`);
    const config = createConfig(modelDir);
    const job = new AgentJetJob({
      config: { ...config, model: { path: modelDir, toolCalls }, sft: { transcripts, epochs: 1, heldOut: 0 } },
    });
    const notices: string[] = [];
    const onEvent = (event: JobEvent): void => void (event.type === 'notice' && notices.push(event.message));
    const { runDir } = await job.sft({ onEvent });
    expect(notices.filter((message) => message.includes('does not support tools'))).toHaveLength(1);
    const { tokenizer, template } = await loadChatTokenizer(path.join(runDir, 'checkpoints', 'step-000001'));
    const [sample] = readEpisodes(runDir).flatMap((row) => row['samples'] as readonly SampleRow[]);
    const said = tokenizer.decode((sample?.ids ?? []).filter((_id, at) => sample?.loss_mask[at] === 1));
    expect(said).toBe('<tool_call>\n{"name": "get_weather", "arguments": {"a": 1}}\n</tool_call><|im_end|>');
    const asked = template.render([{ role: 'user', content: 'Rain?' }], {
      tools: [{ name: 'get_weather', parameters: { type: 'object' } }],
      addGenerationPrompt: true,
    });
    expect(tokenizer.decode(sample?.ids ?? [])).toBe(asked + said);
  },
);

it('a run that refuses tools fails its episodes with the reason', async () => {
  const notices: string[] = [];
  const config = createConfig(modelDir, { tools: 'refuse' });
  const job = new AgentJetJob({ config }).setWorkflow(createWorkflow()).setData({ training: tasks });
  const onEvent = (event: JobEvent): void => void (event.type === 'notice' && notices.push(event.message));
  await expect(job.tune({ onEvent })).rejects.toThrow('None of the 2 episodes completed');
  expect(notices.join('\n')).toContain('"model.tools" is "refuse"');
});
