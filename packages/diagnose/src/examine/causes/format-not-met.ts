import type { Cause, Sighting } from '../cause.js';
import { episodeIds, mostFrequent, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf, ExaminedRun } from '../examined-run.js';
import { acceptedAnswers, describeUnseenEnds, isNear } from '../near-answers.js';
import { isGood } from '../outcome.js';
import { percent } from '../words.js';

/** Most of what the judge refuses has the same form. */
const leastShare = 0.5;
const leastWrong = 20;

const cure =
  'Say in the prompt in which form the answer must be, with an example; let the judge read the form that the model uses (task_judge.answer.after, task_judge.answer.compare), or give a small reward for the form alone.';

type Shared = { readonly episodes: readonly EpisodeOf[]; readonly what: string };

export const formatNotMet: Cause = {
  name: 'format_not_met',
  needs: ['episodes'],
  threshold:
    'half of the refused answers of the last half of the run have no answer, or contain the right answer in another form; or a tenth of all answers do, and nine in ten of them are refused; or nine in ten answers that are exactly the expected one are refused',
  explains: ['never_solved', 'no_spread', 'no_gain', 'stopped_learning', 'zero_gradients'],
  look(run) {
    if (isGood(run)) return undefined;
    const wrong = trainingEpisodes(run, 0.5).filter(({ status, success }) => status === 'completed' && !success);
    if (wrong.length < leastWrong) return undefined;
    const denied = deniedAnswers(run);
    if (denied !== undefined) return denied;
    if (describeUnseenEnds(run) !== undefined) return undefined; // the tasks have to be repaired, and not the form
    const form = refusedForm(run);
    if (form !== undefined) return form;
    const found = [withoutAnswer(wrong), inOtherForm(wrong), sharedReason(wrong)].find(
      (each) => each !== undefined && each.episodes.length >= leastShare * wrong.length,
    );
    if (found === undefined) return undefined;
    const share = found.episodes.length / wrong.length;
    return {
      summary: `${found.episodes.length} of ${wrong.length} refused answers (${percent(share)}) ${found.what}.`,
      cure,
      episodes: episodeIds(found.episodes),
      taken: share,
    };
  },
};

/** The least number of refused answers. A judge may have another reason to refuse fewer. */
const leastDenied = 5;
/** If a judge accepts more of these answers, it asks for more than the answer, or decides by chance. */
const leastDeniedShare = 0.9;

/** Finds answers that equal the expected one, character by character, and are refused. */
function deniedAnswers(run: ExaminedRun): Sighting | undefined {
  const equal = trainingEpisodes(run).filter(
    ({ status, answer = '', expected }) =>
      status === 'completed' && expected !== undefined && acceptedAnswers(expected).includes(answer.trim()),
  );
  const denied = equal.filter(({ success, reward = 0 }) => !success && reward <= 0);
  if (denied.length < leastDenied || denied.length < leastDeniedShare * equal.length) return undefined;
  return {
    summary: `${denied.length} of ${equal.length} answers that are exactly the expected answer were refused, and earned nothing.`,
    cure: 'See with ajet judge --audit what the judge accepts: it asks for a form that the prompt does not name, or compares with something else. Then say the form in the prompt, with an example, or change the judge (task_judge.answer.after, task_judge.answer.compare, task_judge.answer.task_field).',
    episodes: episodeIds(denied),
    taken: denied.length / equal.length,
  };
}

/** Records of workflows that return no answer say nothing, so some episodes must have one. */
function withoutAnswer(wrong: readonly EpisodeOf[]): Shared | undefined {
  const known = wrong.filter(({ answer }) => answer !== undefined);
  return {
    episodes: known.filter(({ answer }) => answer?.trim() === ''),
    what: 'are empty: no answer was found in what the model wrote',
  };
}

/** The right answer is in the text, as a separate word or written otherwise, but the text is not the right answer. */
const inOtherForm = (wrong: readonly EpisodeOf[]): Shared => ({
  episodes: wrong.filter(hasOtherForm),
  what: 'contain the right answer, but in another form than the judge accepts',
});

const hasOtherForm = (episode: EpisodeOf): boolean => isNear(episode) || contains(episode, episode.expected);

function contains({ answer = '' }: EpisodeOf, expected = ''): boolean {
  const right = expected.trim();
  const at = right === '' ? -1 : answer.toLowerCase().indexOf(right.toLowerCase());
  return at >= 0 && answer.trim().toLowerCase() !== right.toLowerCase() && standsAlone(answer, at, right.length);
}

/** At most this share of the answers in another form is accepted. */
const mostAccepted = 0.1;
/** A model that fails at most of its tasks has few right answers, and all of them are refused. */
const leastKnown = 0.1;

/**
 * Finds right answers in another form that are nearly all refused, even if most of the refused answers are wrong. Some
 * answers contain the right one by chance, so they must match their task more often than another task.
 */
function refusedForm(run: ExaminedRun): Sighting | undefined {
  const all = trainingEpisodes(run).filter(({ status, expected }) => status === 'completed' && expected !== undefined);
  const known = all.filter(hasOtherForm);
  const refused = known.filter(({ success }) => !success);
  const isAccepted = known.length - refused.length > mostAccepted * known.length;
  if (refused.length < leastWrong || refused.length < leastKnown * all.length || isAccepted) return undefined;
  const byChance = all.filter((episode, at) =>
    contains(episode, all[(at + Math.ceil(all.length / 2)) % all.length]?.expected),
  );
  if (known.length < 2 * byChance.length) return undefined;
  return {
    summary: `${refused.length} of ${all.length} answers contain the right answer, but in another form than the judge accepts, such as ${JSON.stringify(refused[0]?.answer?.slice(0, 80))} for ${JSON.stringify(refused[0]?.expected)}. ${refused.length === known.length ? 'All of them' : `${percent(refused.length / known.length)}`} were refused.`,
    cure,
    episodes: episodeIds(refused),
    taken: refused.length / known.length,
  };
}

const standsAlone = (text: string, at: number, length: number): boolean =>
  !/[\w.]/.test(text[at - 1] ?? ' ') && !/\w/.test(text[at + length] ?? ' ');

/** The reason of the judge without the values of a single task. */
const reasonShape = (reason: string): string =>
  reason.replaceAll(/"[^"]*"|'[^']*'|`[^`]*`|-?\d+(\.\d+)?/g, '...').slice(0, 120);

/** A reason that speaks of the form. A judge that says "wrong" says nothing about it. */
const aboutForm = /\b(format|form|pars|tag|missing|empty|no answer|not found|json|box|valid|read)/i;

function sharedReason(wrong: readonly EpisodeOf[]): Shared | undefined {
  const shapes = wrong.flatMap((episode) =>
    episode.reason === undefined ? [] : [{ episode, shape: reasonShape(episode.reason) }],
  );
  const most = mostFrequent(shapes.map(({ shape }) => shape));
  if (most === undefined || !aboutForm.test(most.value)) return undefined;
  return {
    episodes: shapes.filter(({ shape }) => shape === most.value).map(({ episode }) => episode),
    what: `got the same reason from the judge: "${most.value}"`,
  };
}
