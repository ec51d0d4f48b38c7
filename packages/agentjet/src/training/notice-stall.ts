import type { JobListener } from '../events.js';

/**
 * Tells, once each, of two runs that look busy and learn nothing: a first step whose episodes asked no tuned model
 * for anything, and one whose groups all had equal rewards.
 */
export function noticeStall(emit: JobListener): JobListener {
  const counts = { completed: 0, calls: 0 };
  let isFirst = true;
  return (event) => {
    emit(event);
    if (event.type === 'episode_finished' && event.phase === 'sample') {
      counts.completed += event.episode.status === 'completed' ? 1 : 0;
      counts.calls += event.episode.stats.calls;
    }
    if (event.type !== 'step_finished' || !isFirst) return;
    isFirst = false;
    const { groups, groups_skipped: skipped, policy_version: version } = event.metrics;
    if (counts.completed === 0 || version !== 0 || skipped !== groups) return;
    emit({ type: 'notice', message: counts.calls === 0 ? silent : `Step ${event.step} changed nothing: ${reasonOf(event.metrics)}` });
  };
}

function reasonOf({ groups, failed_episodes: failed = 0 }: Readonly<Record<string, number>>): string {
  const isEqual = `in none of its ${groups} groups did one episode get another reward than the next. ${equalRewards}`;
  return failed === 0 ? isEqual : `${failed} episodes failed, and a group with a failed one is trained only with rollout.failed_episode_policy: zero_reward; for the others, ${isEqual}`;
}

const silent = 'No episode asked a tuned model for anything, so there is nothing to learn from. Take the agent\'s model from asModel(tuner, { agentName }), and see that trainable_targets names its target.';
const equalRewards = 'Episodes of one task are compared with each other, rollout.num_repeat of them: there may be too few, the tasks too hard or too easy, the reward too coarse, or the temperature too low.';
