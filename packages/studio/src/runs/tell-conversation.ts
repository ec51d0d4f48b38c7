import { forkReasons, type TurnDescription } from '@agentjet/context-tracker';
import type { SampleRecord } from '@agentjet/run-folder';
import type { Said } from '../wire.js';
import type { TokenDecoder } from './token-texts.js';

/**
 * What was said in an episode, in the order of its calls: for each call the messages that no earlier call had, then the
 * answer. A call that did not continue the known history repeats earlier messages; these are marked.
 */
export function tellConversation(
  turns: readonly TurnDescription[],
  samples: readonly SampleRecord[],
  texts: TokenDecoder,
): readonly Said[] {
  return turns.flatMap((turn) => {
    const sample = samples[turn.sample ?? -1];
    return sample === undefined ? [] : [...promptOf(turn, sample, texts), answerOf(turn, sample, texts)];
  });
}

function promptOf(turn: TurnDescription, { ids }: SampleRecord, texts: TokenDecoder): readonly Said[] {
  return turn.parts
    .filter(({ end }) => end > turn.reusedTokens)
    .map(({ author, name, start, end }) => ({
      author,
      agent: turn.agentName,
      ...(name !== undefined && { name }),
      text: texts.join(ids.slice(start, end)),
      tokens: end - start,
      ...((author === 'model' || turn.fork !== null) && { isRepeated: true }),
    }));
}

function answerOf(turn: TurnDescription, sample: SampleRecord, texts: TokenDecoder): Said {
  const [from, to] = [turn.promptTokens, turn.promptTokens + turn.generatedTokens];
  const hasStopToken = !turn.isTruncated && turn.hasStopToken !== false;
  const shown = sample.ids.slice(from, hasStopToken ? Math.max(from, to - 1) : to);
  return {
    author: 'generated',
    agent: turn.agentName,
    text: texts.join(shown),
    turn: turn.index,
    tokens: turn.generatedTokens,
    ...(turn.isTruncated && { isCut: true }),
    ...(turn.fork !== null && { fork: { cause: turn.fork, reason: forkReasons[turn.fork] } }),
    ...meanOf('meanLogprob', sample.logprobs.slice(from, to)),
    ...meanOf('advantage', sample.advantages.slice(from, to)),
  };
}

function meanOf<Name extends string>(name: Name, values: readonly number[]): Partial<Record<Name, number>> {
  if (values.length === 0) return {};
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { [name]: mean } as Record<Name, number>;
}
