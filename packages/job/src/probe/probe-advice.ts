import { type CommonConfig, formatShare } from '@agentjet/core';
import type { CallForms } from '@agentjet/tokenizer';
import { fittingToolCalls } from '@agentjet/tokenizer';
import type { Rate } from '@agentjet/core/success';
import type { TemperatureReport } from './probe-report.js';

export type AdviceParts = {
  readonly config: CommonConfig;
  /** The report at the temperature that the probe chose. */
  readonly chosen: TemperatureReport;
  readonly all: readonly TemperatureReport[];
  readonly expected: Rate | null;
  readonly forms: CallForms | undefined;
  readonly calls: number;
  readonly firstError: string | undefined;
};

/** From this share on, the advice mentions answers that were cut or could not be read. Fewer of them cost little. */
const leastCut = 0.05;
/** If a smaller share of the groups trains, a run learns slowly, and the advice mentions it. */
const fewGroups = 0.25;
const easy = 0.95;

/** Changes that help and that only the user can make, because they change what the agent does. The most important comes first. */
export function adviseProbe(parts: AdviceParts): readonly string[] {
  return [
    adviseCalls(parts),
    adviseFailures(parts),
    adviseToolCalls(parts),
    adviseCuts(parts),
    adviseSignal(parts),
  ].filter((advice) => advice !== undefined);
}

function adviseCalls({ calls, chosen }: AdviceParts): string | undefined {
  if (calls > 0 || chosen.episodes === 0) return undefined;
  return "No episode asked a tuned model for anything, so there is nothing to learn from. Take the agent's model from asModel(tuner, { agentName }), and see that trainable_targets names its target.";
}

function adviseFailures({ chosen, firstError }: AdviceParts): string | undefined {
  if (firstError === undefined || chosen.failedEpisodes === 0) return undefined;
  return `${chosen.failedEpisodes} of ${chosen.episodes} episodes failed. The first error: ${firstError.replace(/[.!?]?$/, '.')} \`--backbone=debug\` shows a few episodes.`;
}

function adviseToolCalls({ config, forms, chosen }: AdviceParts): string | undefined {
  const unread = chosen.unreadCalls?.rate ?? 0;
  if (forms !== undefined && fittingToolCalls(forms) === 'lenient' && config.model.toolCalls !== 'lenient')
    return `${forms.untagged} of ${forms.tagged + forms.untagged} answers with tool calls were bare JSON without the tags of the chat template, and were not read. Set model.tool_calls=lenient, or run \`ajet sft\` on a few dozen tool calls; then probe again.`;
  if (unread < leastCut) return undefined;
  return `${formatShare(unread)} of the answers have tool calls that cannot be read. Show the form in an example turn of the prompt, or run \`ajet sft\` on a few dozen tool calls; then probe again.`;
}

function adviseCuts({ config, chosen }: AdviceParts): string | undefined {
  const cut = chosen.cutAnswers?.rate ?? 0;
  if (cut < leastCut) return undefined;
  const { maxResponseLengthInOneTurn, maxModelLen } = config.rollout;
  return `${formatShare(cut)} of the answers were cut at a token limit. Raise rollout.max_response_length_in_one_turn (${maxResponseLengthInOneTurn}), or rollout.max_model_len (${maxModelLen}) if long prompts leave no room, or ask for shorter answers; then probe again.`;
}

/** If no episode completed, or none asked the model, the outcomes say nothing about it. */
function adviseSignal({ config, chosen, all, expected, calls }: AdviceParts): string | undefined {
  const isUnknown = chosen.episodes > 0 && (calls === 0 || chosen.failedEpisodes === chosen.episodes);
  if (expected === null || isUnknown) return undefined;
  const success = chosen.success?.rate ?? 0;
  if (all.every((each) => (each.success?.rate ?? 0) === 0) && expected.rate < fewGroups)
    return 'No task was solved at any temperature, so reinforcement learning has nothing to start from. Put one to six example turns into the prompt, imitate a larger model first (`ajet sft`), or begin with easier tasks.';
  if (expected.rate >= fewGroups) return undefined;
  if (success > easy)
    return `The tasks are too easy: success is ${success.toFixed(2)}, and only ${formatShare(expected.rate)} of the groups train. Choose harder tasks, or set task_reader.difficulty, which leaves out tasks that are always solved.`;
  return `Only ${formatShare(expected.rate)} of the groups train. ${config.rollout.temperature < 0.5 ? 'Raise rollout.temperature; or put' : 'Put'} example turns into the prompt, imitate a larger model first (\`ajet sft\`), give rewards for parts of a solution, or set task_reader.difficulty, which leaves out tasks that are always or never solved.`;
}
