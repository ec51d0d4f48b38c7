/**
 * Recognizes words that withdraw an answer or do not claim it: "the answer is not 42", "it could be 42", "if the answer
 * is 42".
 */

const before =
  /\b(?:not|no (?:way|chance|reason|evidence)|never|neither|nor|cannot|unless|if|whether|suppose|assume|imagine|(?:let['’]s|let us) say|could|might|may|maybe|perhaps|possibly|probably|unlikely|either|doubt|wrong|impossible|untrue|hardly|rarely|incorrect|false|nobody|asked|asks|told|heard|naive(?:ly)?|mistakenly|wrongly|(?:some|others|he|she|they|people|you) would|such as|for example|some say|they say|people say|previous|expected format)\b|\b(?:nicht|vielleicht|peut-être|qui[zs]ás?|tal vez|talvez|forse)(?!\p{L})|возможно|不(?![难妨])|[没若]|如果|可能|也许|或许|n['’]t\b|\be\.g\.|≠|\\neq?\b|\b(?:says|claims|claimed|thinks|believes)(?: that)?(?: the| my| his| her| their)?\s*$|\b(?:(?<!\b(?:letter|number|value|option) )of|twice|half|double|than) the\s*(?:final |correct )?$|\?\s*$/iu;
const example = /\b(?:for example|for instance|e\.g\.?|such as|say)[,:]?\s*[$\\([*`"']*\s*$/i;
const beforeBox = /\b(?:in|inside|within|into|inside of|form|format|like|as)\s*[:$\\([`"'*]*\s*$/i;

/** Matches "Otherwise, the answer is" and "had we known, the answer would be". */
const otherwise =
  /(?:^|[.!?;,\n]\s*)(?:(?:or|otherwise|or else|alternatively|if i (?:had|have) to guess),?|(?:had|were) [^.!?\n]{1,80},)\s+(?:the (?:final |correct )?)?[$\\([*]*$/i;

/** Matches doubt right after an answer, in the same sentence. */
const after =
  /^[\s$\\\])*_.,;:"'`)}–—-]*(?:\(\s*)?(?:(?:but|though|although),?\s)?(?:[?？吗]|or\b(?!,? (?:in other words|equivalently)\b)|and\/or\b|maybe\b|perhaps\b|possibly\b|probably\b|if\b|unless\b|not sure\b|unsure\b|uncertain\b|i(?: am|['’]m) not\b|just a guess|(?:(?:this|that|it|which) )?(?:(?:is|was|are|seems|looks) )?(?:clearly |obviously |definitely |certainly |probably )?(?:not (?:sure|certain|correct|right|true|really|necessarily|exactly|quite|the (?:right |correct |final )?(?:answer|choice|option))\b|wrong|incorrect|false|impossible)|(?:is|was|are|seems) (?:clearly |definitely |certainly |probably )?not\b|(?:is|was|ca|could|wo)n['’]t\b|(?:could|might|may|cannot(?! be (?:determined|simplified|reduced|factored|written|expressed|improved)\b)|can not)\b|which (?:contradicts|violates)\b|(?:=>|->|→)\s*[$\d-])/i;
/**
 * Matches doubt later in the same sentence: "..., so this cannot be right", "..., but we counted twice, so it is 18".
 */
const within =
  /^[^.!?\n]{0,200}?(?:\b(?:this|that|it|which) can(?:not|['’]t) be (?:right|correct|true)\b|\b[A-H]\)? (?:is|would be|could be|may be|might be|looks|seems) (?:also|equally|just as)\b|\bbut [^.!?\n]{0,100}\bso (?:it|the (?:answer|total|result|count)) (?:is|equals|must be) [$\\(*]*[-\dA-Z])/;
/** Matches another answer next to the first one. */
const another =
  /^[\s$\\\])*_.,;:"'`)}]*(?:\([^()\n]{1,60}\)\s?)?(?:and|,|\/|;|&)\s*(?:[$\\([*]*\d|\\boxed|[$(]*[A-Z]\b[).]?(?:\s(?!(?:is|are) (?:wrong|incorrect|false|not)\b|(?:violates|contradicts|fails|ignores|lacks|confuses|misses|does not)\b)|$))/;

/**
 * Matches alternatives with separate reasons or cases: `A because ..., or B because ...`, `5 for adults, 3 for
 * children`, `A since ...; otherwise B`.
 */
const value = String.raw`[$\\(*]{0,3}(?:[A-Z]\b|-?\d[\d,./]{0,20})[$)*]{0,3}`;
const cases = new RegExp(
  String.raw`^[\s$\\)*_.}]*,?\s?\(?(because|since|if|when|as|given|for|in|with|without)\b[^.!?\n]{0,300}?(?:,|;|\)|\s(?=or|and))\s*(?:and|or)?\s*(?:else |maybe |perhaps |alternatively |it is ){0,2}${value} \(?\1\b|` +
    String.raw`^[^.!?\n]{0,300}?[,;] (?:otherwise|alternatively|or else),? (?:it is )?${value}\s*(?:[.,;]|$)`,
);

/** Matches a later sentence that withdraws the answer. */
const later =
  /(?:^[\s,;]{0,5}|[.!?\n。！？，]\s*|\)\s*)(?:(?:oh|hmm|oops|but|however|and|or|so),?\s+)?(?:wait\b|actually\b|no[,!] |no wait|no[.] +\S|hmm\b|oops\b|sorry\b|scratch that|correction\b|on second thought|i (?:(?:was|am|might be|may be|could be) (?:wrong|mistaken|not sure|unsure)|(?:might|may|could) have (?:made|missed|overlooked|forgotten|mis[a-z]+)\b)|i['’]m (?:wrong|mistaken|not sure|unsure)|i (?:do not|don['’]t|cannot|can['’]t) (?:know|say|tell|think)|(?:that|this|it)(?:['’]s| is| was| may be| might be| could be) (?:clearly |probably )?(?:wrong|not\b|incorrect|false|a mistake|just a guess|a guess)|never ?mind|just kidding|(?:alternatively|or)\b(?!,? (?:in other words|equivalently|put differently|(?:one|we|you|i) (?:can|could|may|might))\b)|(?:it|the answer) (?:could|might|may) (?:also )?be|maybe\b|perhaps\b|otherwise\b,? (?:it|the answer) (?:is|equals)|(?:edit|update)\s?:|my (?:mistake|bad|apologies)\b|apologies\b|let me (?:correct|fix)\b|i (?:made an? (?:\w+ )?(?:mistake|error|slip)|misread|miscounted|miscalculated|forgot|overlooked)\b|mine is\b|i g[eo]t [-$\\\d]|(?<=\b(?:but|however),?\s+)i (?:calculate|compute|find|obtain|count|have) [-$\\\d]|(?:it|that|this|the answer) (?:should (?:be [-$\\(*\d]|be [b-h]|have been)|ignores|misses|forgets|neglects|omits|cannot be(?! determined)|can['’]t be)\b|(?:non|nein|нет|perd[óo]n|pardon|entschuldigung)[,.! ]|等等|不对)/i;
const laterAnswer = /\banswer\b[^.!?\n]{0,40}(?:\bnot\b|n['’]t\b|\bwrong\b|\bincorrect\b)/i;

/**
 * Matches the description of the thing that the answer names, up to the verb: "the number of guests who did not reply
 * is", "the largest integer that cannot be written so is". Its words do not deny the answer, unless they are about an
 * opinion.
 */
const description = new RegExp(
  String.raw`(?:\bthe (?:(?!(?:that|which|who|it)\b)[a-z-]{2,20} ){0,4}?|^|[.!?\n]\s{0,3})(?!(?:answer|option|choice|letter|solution|result|guess|one|claim|idea)s?\b)[a-z]{2,20}(?: \$[^$\n]{1,40}\$)? (?:of|that|which|who|such that|for which)\b` +
    String.raw`(?![^.!?\n,;:]{0,160}\b(?:naive|mistaken|wrongly|incorrectly|say|said|claim|think|thought|guess|believe|right|correct|nobody|the answer|(?:is|are) (?:wrong|incorrect|false)))` +
    String.raw`[^.!?\n,;:]{1,160}(?=(?:\b(?:is|are|equals)\b|=)(?:[^a-z]|\\[a-z]+|\b[a-z]\b)*$)`,
  'i',
);
/** Matches other words that do not deny an answer. */
const idioms =
  /\b(?:without (?:a |any )?doubt|no doubt|not (?:hard|difficult) to|in either case)\b|\b(?:since|because|as)\b(?![^.!?\n,;]{0,100}\b(?:say|wrong)\b)[^.!?\n,;]{1,100}\bwe (?:have|get|obtain|find)\b/gi;

/** The clause before a mark. It begins after the last full stop, comma, "so" or "then". */
function clauseBefore(text: string, start: number): string {
  const words = text.slice(Math.max(0, start - 200), start);
  return (
    words
      .replaceAll(idioms, '')
      .replace(description, '')
      .split(
        /[.!?](?=\s)|(?<!:)\s*\n|[,;]\s|[,;]$|[，；。]|\b(?:so|then|thus|therefore|hence|and|but|because|since)\b/i,
      )
      .at(-1) ?? ''
  );
}

/**
 * Whether the words before an answer deny or weaken it. `mark` is the mark with its words, such as "the answer that
 * nobody gave is".
 */
export function isDoubtedBefore(
  text: string,
  { start, from }: { readonly start: number; readonly from: number },
  isBox: boolean,
): boolean {
  const clause = clauseBefore(text, start);
  if (example.test(text.slice(Math.max(0, start - 40), start))) return true;
  return (
    before.test(clause) ||
    /(?<!question|problem)['’]s\s*$/i.test(clause) ||
    otherwise.test(text.slice(Math.max(0, start - 120), start)) ||
    before.test(text.slice(start, from).replace(/\\f?boxed/, '')) ||
    (isBox && beforeBox.test(clause))
  );
}

/** Whether the words after an answer deny or weaken it, in its sentence or later. */
export function isDoubtedAfter(rest: string): boolean {
  const near = rest.slice(0, 4000);
  return (
    after.test(near) ||
    another.test(near) ||
    within.test(near) ||
    cases.test(near) ||
    later.test(near) ||
    laterAnswer.test(near)
  );
}

export function isDoubtful(text: string): boolean {
  return before.test(text) || /\b(?:unsure|unknown|or|between)\b|\b(?:do not|don['’]t) know\b/i.test(text);
}
