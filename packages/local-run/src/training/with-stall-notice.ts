import { existsSync, readFileSync } from 'node:fs';
import type { JobListener } from '@agentjet/records';
import type { Episode } from '@agentjet/rollout';

/**
 * Reports, once each, a run that looks busy but learns nothing: a first step without a call to a tuned model, and a
 * step whose episodes were all too long. `trainableTargets` comes from the configuration. If it is null, the targets
 * that the workflow names learn, or all targets.
 */
export function withStallNotice(
  emit: JobListener,
  trainableTargets: readonly string[] | null,
  workflow: string | null = null,
): JobListener {
  const counts = { completed: 0, calls: 0, untrained: 0 };
  let unawaited: string | undefined;
  let isFirst = true;
  return (event) => {
    emit(event);
    if (event.type === 'episode_finished' && event.phase === 'sample') {
      counts.completed += event.episode.status === 'completed' ? 1 : 0;
      counts.calls += event.episode.stats.calls;
      counts.untrained += event.episode.calls.untrained;
      unawaited ??= unawaitedIn(event.episode);
    }
    if (event.type !== 'step_finished' || !isFirst) return;
    isFirst = false;
    if (counts.completed === 0 || event.metrics['policy_version'] !== 0) return;
    if (counts.calls === 0)
      return emit({
        type: 'notice',
        message: silenceOf(trainableTargets, { untrained: counts.untrained, unawaited, workflow }),
      });
    const reason = reasonOf(event.metrics);
    if (reason !== undefined) emit({ type: 'notice', message: `Step ${event.step} changed nothing: ${reason}` });
  };
}

type Silence = {
  readonly untrained?: number;
  readonly unawaited?: string | undefined;
  /** The reference of the workflow, `path/file.ts->Export`. */
  readonly workflow?: string | null;
};

/** Returns the advice if no agent called a tuned model with a call that is trained. */
export function silenceOf(
  targets: readonly string[] | null,
  { untrained = 0, unawaited, workflow = null }: Silence = {},
): string {
  if (unawaited !== undefined)
    return `No call of a tuned model was answered, because the workflow returned too early. ${unawaited}${/:\d+:\d+/.test(unawaited) ? '' : placeOf(workflow)}`;
  if (untrained > 0)
    return `All ${untrained} calls of tuned models were marked as not trained, so there is nothing to learn from. See the header x-ajet-train, and the names in rollout.untrained_models.`;
  const named = targets === null ? '' : `, which is [${targets.join(', ')}],`;
  return `No episode asked a tuned model for anything, so there is nothing to learn from.${placeOf(workflow)} Take the agent's model from asModel(tuner, { agentName }), and see that trainable_targets${named} names its target: its targetTag, or its agentName if it has no targetTag.`;
}

/** Returns the message about a call that was running when the workflow returned. */
export function unawaitedIn({ swallowedErrors = [] }: Pick<Episode, 'swallowedErrors'>): string | undefined {
  return swallowedErrors.find(({ code }) => code === 'unawaited')?.message;
}

/** Names the workflow's file and the line of its export. A workflow that code passed has no reference. */
function placeOf(workflow: string | null): string {
  const [, file = '', name = ''] = /^(.+?)\s*->\s*(.+)$/.exec(workflow ?? '') ?? [];
  if (!existsSync(file)) return '';
  const lines = readFileSync(file, 'utf8').split('\n');
  const line = lines.findIndex((text) => text.includes('export') && text.includes(name));
  return ` The workflow is ${file}${line < 0 ? '' : `:${line + 1}`}.`;
}

function reasonOf({
  groups,
  groups_skipped: skipped,
  dropped_episodes: dropped = 0,
}: Readonly<Record<string, number>>): string | undefined {
  if (skipped === groups || dropped === 0) return undefined;
  return `${dropped} episodes had something to teach, and all were dropped. ${tooLong}`;
}

const tooLong =
  'A sample of each is longer than data.max_prompt_length + data.max_response_length: raise them, shorten the conversation, or set data.overlong_sample_policy to truncate.';
