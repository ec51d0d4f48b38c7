import { createRandom, type Random, type Sample } from '@agentjet/core';

/** Episodes with one row per model call, as they come before anything is merged or shared: only the call's own tokens are trained. */
export type Workload = { readonly name: WorkloadName; readonly about: string; readonly rows: readonly Sample[] };
export type WorkloadName = 'werewolves' | 'rewritten_20_leaves' | 'group_long_prompt' | 'no_sharing';

type Source = { readonly random: Random; readonly vocabSize: number; readonly tokens: (length: number) => number[] };

/** The same seed gives the same tokens. Lengths are in tokens. */
export function createWorkloads(seed: number, vocabSize: number): Workload[] {
  const random = createRandom(seed);
  const source: Source = { random, vocabSize, tokens: (length) => Array.from({ length }, () => random.int(vocabSize)) };
  return [werewolves(source), rewrittenHistory(source), longPrompt(source), noSharing(source)];
}

function werewolves(source: Source): Workload {
  const rules = source.tokens(120);
  const wolf = (episodeId: string, agentName: string) => {
    const history = [...rules, ...source.tokens(20)];
    return Array.from({ length: 5 }, () => {
      history.push(...source.tokens(30));
      const row = createRow(source, { episodeId, agentName, prompt: history, answer: source.tokens(24) });
      history.splice(0, history.length, ...row.ids);
      return row;
    });
  };
  return {
    name: 'werewolves',
    about: 'a group of 8 games, 2 trained wolves each, 5 rounds; rules 120, role 20, observation 30, answer 24; each wolf keeps its own history',
    rows: inEpisodes(8, (episodeId) => [...wolf(episodeId, 'wolf-1'), ...wolf(episodeId, 'wolf-2')]),
  };
}

function rewrittenHistory(source: Source): Workload {
  const system = source.tokens(48);
  return {
    name: 'rewritten_20_leaves',
    about: '2 episodes of 20 turns; system 48, observation 12, thought 16, answer 8; thoughts are left out of the history, so that every call ends in a leaf of its own',
    rows: inEpisodes(2, (episodeId) => {
      const history = [...system];
      return Array.from({ length: 20 }, () => {
        history.push(...source.tokens(12));
        const answer = source.tokens(8);
        const row = createRow(source, { episodeId, prompt: history, answer: [...source.tokens(16), ...answer] });
        history.push(...answer);
        return row;
      });
    }),
  };
}

function longPrompt(source: Source): Workload {
  const prompt = source.tokens(512);
  return {
    name: 'group_long_prompt',
    about: '8 answers of 64 over one prompt of 512',
    rows: inEpisodes(8, (episodeId) => [createRow(source, { episodeId, prompt, answer: source.tokens(64) })]),
  };
}

function noSharing(source: Source): Workload {
  const upTo = (low: number, high: number) => source.tokens(low + source.random.int(high - low + 1));
  return {
    name: 'no_sharing',
    about: '24 rows with nothing in common; prompts of 40 to 200, answers of 40 to 100',
    rows: inEpisodes(24, (episodeId) => [createRow(source, { episodeId, prompt: upTo(40, 200), answer: upTo(40, 100) })]),
  };
}

function inEpisodes(count: number, rowsOf: (episodeId: string) => Sample[]): Sample[] {
  return Array.from({ length: count }, (_, index) => rowsOf(`episode-${index}`)).flat();
}

type Row = { readonly episodeId: string; readonly agentName?: string; readonly prompt: readonly number[]; readonly answer: readonly number[] };

/** Behaviour logprobs of a fresh model, which is nearly uniform. */
function createRow({ random, vocabSize }: Source, { episodeId, agentName = 'agent', prompt, answer }: Row): Sample {
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
