import { rmSync } from 'node:fs';
import path from 'node:path';
import { exportGguf } from '@agentjet/gguf';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createOnnxBackbone } from '@agentjet/trainer';
import { askLlamaCpp, type LlamaAnswer, type LlamaCase } from './llama-cpp.js';
import { prompts } from './prompts.js';

/**
 * The position where two answers first differ. `margin` says by how many nats llama.cpp prefers its own token to ours.
 */
type Parting = { readonly prompt: number; readonly at: number; readonly margin: number };

export type ExportComparison = {
  readonly model: string;
  readonly prompts: number;
  readonly tokens: number;
  /** The number of prompts that AgentJet and llama.cpp encode as the same tokens. */
  readonly same_prompt_tokens: number;
  readonly f16: { readonly same_answers: number; readonly partings: readonly Parting[]; readonly gap: Gap };
  readonly q8_0: { readonly same_answers: number; readonly gap: Gap };
};

/** Differences of the log-probabilities of an answer's tokens, in nats. */
type Gap = { readonly mean: number; readonly largest: number };

const answerTokens = 24;

/**
 * Compares greedy answers of the embedded engine with those of llama.cpp for the same model, exported as f16 and q8_0.
 */
export async function compareExport(name: string, dir: string, scratch: string): Promise<ExportComparison> {
  const answered = await answer(dir);
  const read = async (type: 'f16' | 'q8_0'): Promise<readonly LlamaAnswer[]> => {
    const target = path.join(scratch, `${name}-${type}.gguf`);
    await exportGguf(dir, target, { type });
    const answers = askLlamaCpp(target, answered);
    rmSync(target);
    return answers;
  };
  const [f16, q80] = [await read('f16'), await read('q8_0')];
  const partings = f16.flatMap((each, prompt) =>
    partingOf(each, answered[prompt]).map((found) => ({ prompt, ...found })),
  );
  return {
    model: name,
    prompts: answered.length,
    tokens: answered.reduce((sum, { answerIds }) => sum + answerIds.length, 0),
    same_prompt_tokens: f16.filter(({ ids }, index) => ids.join() === answered[index]?.promptIds.join()).length,
    f16: { same_answers: answered.length - partings.length, partings, gap: gapOf(f16, answered) },
    q8_0: {
      same_answers: q80.filter((each, index) => partingOf(each, answered[index]).length === 0).length,
      gap: gapOf(q80, answered),
    },
  };
}

type Answered = LlamaCase & { readonly logprobs: readonly number[] };

async function answer(dir: string): Promise<readonly Answered[]> {
  const { tokenizer, template } = await loadChatTokenizer(dir);
  const backbone = await createOnnxBackbone({ modelDir: dir, train: false, threads: 2, contextLength: 256 });
  const { stopIds } = template;
  try {
    const found: Answered[] = [];
    for (const content of prompts) {
      const text = template.render([{ role: 'user', content }], { addGenerationPrompt: true });
      const promptIds = tokenizer.encode(text);
      const sampling = { temperature: 0, topP: 1, topK: 0, maxTokens: answerTokens, stopIds, seed: 1 };
      const { ids, logprobs } = await backbone.engine.generate({ promptIds, sampling });
      found.push({ text, promptIds: [...promptIds], answerIds: [...ids], logprobs: [...logprobs] });
    }
    return found;
  } finally {
    await backbone.close();
  }
}

/** Returns an empty list if both write the same answer. */
function partingOf({ places }: LlamaAnswer, asked: Answered | undefined): readonly Omit<Parting, 'prompt'>[] {
  const at = places.findIndex(({ best }, index) => best !== asked?.answerIds[index]);
  const place = places[at];
  return place === undefined ? [] : [{ at, margin: place.logprob - (place.ours ?? -Infinity) }];
}

function gapOf(answers: readonly LlamaAnswer[], asked: readonly Answered[]): Gap {
  const gaps = answers.flatMap(({ places }, prompt) =>
    places.map(({ ours }, at) => Math.abs((ours ?? -Infinity) - (asked[prompt]?.logprobs[at] ?? 0))),
  );
  return { mean: gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length, largest: Math.max(...gaps) };
}
