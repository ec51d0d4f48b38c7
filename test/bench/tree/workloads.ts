import { createRandom, type ChatMessage, type Random, type Sample } from '@agentjet/core';
import { createContextTracker } from '@agentjet/context-tracker';
import { nanoModelDir } from '@agentjet/nano';
import { loadChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createWriter } from '../tracker/workloads.js';
import { readRecordedEpisodes, toCalls, type Call } from './recorded-episodes.js';

/**
 * Episodes with one row per model call, before anything is merged or shared: only the call's own tokens are trained.
 */
export type Workload = { readonly name: WorkloadName; readonly about: string; readonly rows: readonly Sample[] };
export type WorkloadName = 'werewolves' | 'rewritten_20_leaves' | 'group_long_prompt' | 'no_sharing';

/** The same seed gives the same tokens. Lengths are in tokens. */
export async function createWorkloads(seed: number, vocabSize: number): Promise<Workload[]> {
  const random = createRandom(seed);
  const chatTokenizer = await loadChatTokenizer(nanoModelDir);
  const toRows = ({ calls, ...rest }: CallsOf): Workload => ({
    ...rest,
    rows: renumber(calls, vocabSize).map((call) => createRow(call, { random, vocabSize })),
  });
  return [
    werewolves(),
    rewrittenHistory(chatTokenizer),
    longPrompt(chatTokenizer),
    noSharing({ random, vocabSize }),
  ].map(toRows);
}

/**
 * Numbers the ids that occur 0, 1, 2, ..., because the model under test has its own vocabulary. Equal ids stay equal,
 * and different ids stay different.
 */
function renumber(calls: readonly Call[], vocabSize: number): readonly Call[] {
  const numbers = new Map<number, number>();
  const toNumber = (id: number): number => {
    const number = numbers.get(id) ?? numbers.size;
    numbers.set(id, number);
    return number;
  };
  const renumbered = calls.map(({ prompt, answer, ...rest }) => ({
    ...rest,
    prompt: prompt.map(toNumber),
    answer: answer.map(toNumber),
  }));
  if (numbers.size > vocabSize)
    throw new Error(`The workload has ${numbers.size} different ids; the model knows ${vocabSize}.`);
  return renumbered;
}

type CallsOf = Omit<Workload, 'rows'> & { readonly calls: readonly Call[] };

function werewolves(): CallsOf {
  const calls = readRecordedEpisodes().flatMap(toCalls);
  return {
    name: 'werewolves',
    about: `a group of 8 games as the werewolves tutorial recorded them: two werewolves, ${calls.length} calls, each wolf with its own history`,
    calls,
  };
}

function rewrittenHistory(chatTokenizer: ChatTokenizer): CallsOf {
  return {
    name: 'rewritten_20_leaves',
    about:
      '2 episodes of 20 turns through the tracker; system 48, observation 12, thought 16, answer 8, and the template; thoughts are left out of the history, so that every call ends in a separate leaf',
    calls: inEpisodes(2, (episodeId, episode) => {
      const writer = createWriter(chatTokenizer, episode);
      const system: ChatMessage = { role: 'system', content: createWriter(chatTokenizer, 9).question(48).content };
      const turns = Array.from({ length: 20 }, () => ({
        observation: writer.question(12),
        thought: writer.question(16).content,
        answer: writer.question(8).content,
      }));
      return track(episodeId, chatTokenizer, (ask) => {
        const history: ChatMessage[] = [system];
        for (const { observation, thought, answer } of turns) {
          history.push(observation);
          ask(history, `${thought}\n${answer}`);
          history.push({ role: 'assistant', content: answer });
        }
      });
    }),
  };
}

function longPrompt(chatTokenizer: ChatTokenizer): CallsOf {
  const question = createWriter(chatTokenizer, 5).question(512);
  return {
    name: 'group_long_prompt',
    about: '8 answers of 64 over one prompt of 512, through the tracker',
    calls: inEpisodes(8, (episodeId, episode) =>
      track(episodeId, chatTokenizer, (ask) =>
        ask([question], createWriter(chatTokenizer, episode).question(64).content),
      ),
    ),
  };
}

/** Runs one agent with the tracker, which records the tokens that each call really saw. */
function track(
  episodeId: string,
  chatTokenizer: ChatTokenizer,
  play: (ask: (messages: readonly ChatMessage[], answer: string) => void) => void,
): readonly Call[] {
  const agent = { agentName: 'agent', targetTag: 'agent' };
  const tracker = createContextTracker({ episodeId, chatTokenizer });
  const calls: Call[] = [];
  play((messages, text) => {
    const turn = tracker.begin(agent, { messages });
    const ids = Int32Array.of(...chatTokenizer.tokenizer.encode(text), turn.stopIds[0] ?? 0);
    turn.commit({ ids, logprobs: new Float32Array(ids.length), finishReason: 'stop', policyVersion: 0 });
    calls.push({ episodeId, agentName: agent.agentName, prompt: [...turn.promptIds], answer: [...ids] });
  });
  return calls;
}

function noSharing({ random, vocabSize }: Source): CallsOf {
  const tokens = (low: number, high: number): number[] =>
    Array.from({ length: low + random.int(high - low + 1) }, () => random.int(vocabSize));
  return {
    name: 'no_sharing',
    about: '24 rows with nothing in common; prompts of 40 to 200, answers of 40 to 100',
    calls: inEpisodes(24, (episodeId) => [
      { episodeId, agentName: 'agent', prompt: tokens(40, 200), answer: tokens(40, 100) },
    ]),
  };
}

function inEpisodes(count: number, callsOf: (episodeId: string, episode: number) => readonly Call[]): readonly Call[] {
  return Array.from({ length: count }, (_, index) => callsOf(`episode-${index}`, index + 1)).flat();
}

type Source = { readonly random: Random; readonly vocabSize: number };

/** Makes a row with the behaviour logprobs of a fresh model, which is nearly uniform. */
function createRow({ episodeId, agentName, prompt, answer }: Call, { random, vocabSize }: Source): Sample {
  const ids = Int32Array.of(...prompt, ...answer);
  const lossMask = Uint8Array.from(ids, (_, t) => (t < prompt.length ? 0 : 1));
  const advantage = 2 * random.next() - 1;
  return {
    episodeId,
    agentName,
    targetTag: agentName,
    ids,
    lossMask,
    logprobs: Float32Array.from(lossMask, (mask) => -mask * Math.log(vocabSize)),
    policyVersions: Int32Array.from(lossMask, (mask) => mask - 1),
    advantages: Float32Array.from(lossMask, (mask) => mask * advantage),
  };
}
