/**
 * How long do agents keep the event loop from its sockets and timers? It runs the math agent of the tutorial in each
 * framework, at the default settings: 64 episodes at once, in lockstep, because the scripted engine answers all of them
 * together. The figure is the CPU time of the main thread between two turns of a timer: the 99.9th percentile of a run,
 * and the median of several runs.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { AgentJetJob } from 'agentjet';
import { writeTinyModel } from '../../e2e/support/tiny-model.js';
import { median, numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { createStillBackbone } from '../faults/still-backbone.js';
import { measureStalls, quantile } from './cpu-stalls.js';

const root = path.resolve(import.meta.dirname, '../../..');
const adapters = ['react', 'openai', 'anthropic', 'google', 'langgraph', 'ai-sdk', 'openai-agents'];
const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
const toolCall = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "2+3"}}\n</tool_call>';

/** Makes one run of `steps` steps. Returns the 99.9th percentile of its stalls, in ms of CPU time. */
async function runOnce(adapter: string, scratch: string, steps: number): Promise<number> {
  const modelDir = path.join(scratch, 'model');
  const engine = createScriptedEngine({
    chatTokenizer,
    contextLength: 4096,
    // Answers with a call of the tool, then with the answer. A delay of 0 answers all calls of a wave together.
    replies: ({ text }) => ({
      text: text.includes('<tool_response>') ? 'The answer is 5.' : toolCall,
      tokenDelayMs: 0,
    }),
  });
  const job = new AgentJetJob({
    backbone: createStillBackbone(engine, modelDir),
    model: modelDir,
    experimentName: 'loop',
    experimentDir: scratch,
    maxModelLen: 4096,
    config: { trainerCommon: { valBeforeTrain: false, saveFreq: 0, totalTrainingSteps: steps, maxEmptySteps: null } },
  })
    .setWorkflow(path.join(root, `tutorial/math-agent/workflows/${adapter}.ts->solveProblem`))
    .setData({
      training: Array.from({ length: 16 }, (_, index) => ({ taskId: `t${index}`, mainQuery: `${index} + 3?` })),
    })
    .setJudge((task) => ({ reward: task.mainQuery.length % 2, isSuccess: false }));
  const stop = measureStalls();
  await job.tune({ onEvent: () => {} });
  return quantile(stop(), 0.999);
}

export const optionTexts: OptionTexts = { '--runs <n>': 'default 5', '--steps <n>': 'steps of each run; default 2' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const runs = numberOption(args, '--runs', 5);
  const steps = numberOption(args, '--steps', 2);
  const scratch = await mkdtemp(path.join(tmpdir(), 'loop-'));
  try {
    await writeTinyModel(path.join(scratch, 'model'));
    const summary: Record<string, { readonly stall_cpu_p999_ms: number }> = {};
    const details: Record<string, readonly number[]> = {};
    for (const adapter of adapters) {
      const stalls: number[] = [];
      for (let index = 0; index < runs; index++) stalls.push(await runOnce(adapter, scratch, steps));
      summary[adapter] = { stall_cpu_p999_ms: Math.round(median(stalls) * 10) / 10 };
      details[adapter] = stalls;
      report(
        `${adapter}: ${median(stalls).toFixed(0)} ms of CPU time (${stalls.map((stall) => stall.toFixed(0)).join(', ')})`,
      );
    }
    return { summary, details: { stalls_ms: details, steps, episodes_per_step: 128, max_env_worker: 64 } };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
