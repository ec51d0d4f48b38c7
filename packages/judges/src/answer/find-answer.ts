import { isDoubtedAfter, isDoubtedBefore, isDoubtful } from './doubt.js';
import { contentOfMark, findMarks, type Mark } from './find-marks.js';
import { correctionOf, type Rewording } from './other-words.js';

/**
 * Finds the answer in a model's words. Thoughts are never searched. The last mark counts, so a model that corrects
 * itself is judged by the correction. Consecutive marks with nothing between them are a list of guesses and count for
 * nothing. Without a mark, either the whole text is the answer or there is none.
 */

/**
 * Removes thinking blocks. A block that was never closed extends to the end. A block whose opening tag is in the prompt
 * starts at the beginning.
 */
export function withoutThoughts(text: string): string {
  let rest = text;
  for (const tag of ['think', 'thinking', 'reasoning']) {
    const parts = rest.split(new RegExp(`<${tag}>`, 'i'));
    rest = parts
      .map((part, at) => {
        const closed = part.toLowerCase().lastIndexOf(`</${tag}>`);
        if (closed >= 0) return part.slice(closed + tag.length + 3);
        return at === 0 ? part : '';
      })
      .join('');
  }
  return rest;
}

export type AnswerSearch = {
  /** The mark before the answer, on the same line. Null means the usual marks. */
  readonly after: string | null;
  /** Whether a string can be an answer of the requested kind. */
  readonly isReadable: (text: string) => boolean;
  /**
   * Chooses between several readings of one line, such as `Paris` for `Paris. It is in France`. If it prefers none of
   * them, the first reading is taken.
   */
  readonly isPreferred?: (text: string) => boolean;
  /** Extracts answers from a marked text that says more than the answer, such as `m + n = 204`. */
  readonly inOtherWords?: (text: string) => readonly Rewording[];
  /** Whether two answers mean the same. Default: they must have the same characters. */
  readonly isSame?: (first: string, second: string) => boolean;
  /** Whether several consecutive boxes may be one list: `\boxed{1}, \boxed{2}`. */
  readonly isList?: boolean;
  /** Whether a first line may be the answer if reasons follow it, such as `B` with an explanation below. */
  readonly isFirstLine?: (line: string, rest: string) => boolean;
  /** Whether text without a mark may be the answer as a whole. Default: true, or false if `after` is set. */
  readonly isWhole?: boolean;
};

/** Tokens that end a turn. An engine may leave them in the message. */
const endOfTurn = /(?<!\s)\s{0,3}(?:(?:<\|[a-z_]{1,30}\|>|<\/s>|<eos>|<end_of_turn>)\s{0,3}){1,4}$/i;

/** Longer contents of a mark are not searched for another mark. */
const maxInside = 1000;

/** At most this many marks are read, counted from the end of the text. */
const maxMarks = 40;

/** Returns the answer for the judge. Null if there is none, or if it is denied, hedged or one of several. */
export function findAnswer(text: string, search: AnswerSearch): string | null {
  const said = withoutMarkup(withoutThoughts(text)).replace(endOfTurn, '');
  const marks = findMarks(said, search.after).slice(-maxMarks);
  for (let at = marks.length - 1; at >= 0; at--) {
    const mark = marks[at];
    if (mark === undefined) continue;
    const read = readMark(said, mark, search);
    if (read === 'none') continue;
    if (read === 'doubted') return null;
    if (!isOneOfSeveral(said, marks.slice(0, at), { mark, read, search })) return read.answer;
    return search.isList ? joinedBoxes(said, marks.slice(0, at + 1)) : null;
  }
  return search.after === null && search.isWhole !== false ? readWhole(said, search) : null;
}

/** Removes HTML tags and words that are struck out. */
function withoutMarkup(text: string): string {
  return text
    .replaceAll(/<\|begin_of_box\|>([^<\n]{1,300})<\|end_of_box\|>/g, '\\boxed{$1}')
    .replaceAll(/<\/?(?:b|strong|em|i|u|p|br|h[1-6])\s?\/?>|~~[^~\n]{1,200}~~/g, ' ');
}

/** Joins boxes that are separated only by commas or "and" into one list. Null if another mark is among them. */
function joinedBoxes(said: string, marks: readonly Mark[]): string | null {
  const row: string[] = [];
  let next: Mark | null = null;
  for (const mark of marks.toReversed()) {
    const between = next === null ? ',' : said.slice(mark.end, next.start).replaceAll(/\\(?:text|quad)|[{}$\s]/g, '');
    if (mark.kind !== 'enclosed' || !/^(?:[,;]|and|,and)$/.test(between)) return null;
    row.unshift(contentOfMark(said, mark));
    next = mark;
  }
  return row.join(', ');
}

type Read = { readonly answer: string; readonly end: number };

/**
 * 'none' means that the mark holds no answer ("the answer is simple"). 'doubted' means that it withdraws an answer or
 * gives several.
 */
function readMark(said: string, mark: Mark, search: AnswerSearch): Read | 'none' | 'doubted' {
  const content = contentOfMark(said, mark);
  const reading = readingOf(content, mark.kind, search);
  if (reading === undefined) return mark.kind === 'enclosed' || isDoubtful(content) ? 'doubted' : 'none';
  const end = mark.kind === 'enclosed' ? mark.end : mark.from + reading.shortest;
  const isBox = mark.kind === 'enclosed' && said.charAt(mark.start) !== '<';
  if (
    reading.isStatement &&
    /(?:[.!?\n,;]|\b(?:and|but)\b).*\d/s.test(said.slice(mark.from + reading.length - 1, end + 4000))
  )
    return 'doubted';
  const isDoubted = isDoubtedBefore(said, mark, isBox) || (mark.kind !== 'verdict' && isDoubtedAfter(said.slice(end)));
  return isDoubted ? 'doubted' : { answer: reading.answer, end };
}

type Reading = { readonly answer: string; readonly length: number; readonly isStatement?: boolean };
/** `shortest` is the length of the content that the answer needs. The text after it may withdraw the answer. */
type ChosenReading = Reading & { readonly shortest: number };

function readingOf(content: string, kind: Mark['kind'], search: AnswerSearch): ChosenReading | undefined {
  const { isReadable, isPreferred } = search;
  const corrected = search.inOtherWords && correctionOf(content, isReadable);
  if (corrected) return { answer: corrected, length: content.length, shortest: content.length };
  const readings = readingsOf(content, kind);
  const asSaid = readings.filter(({ answer }) => answer !== '' && isReadable(answer));
  const readable = asSaid.length > 0 ? asSaid : readings.flatMap((reading) => rewordings(reading, search));
  const chosen = readable.find(({ answer }) => isPreferred?.(answer)) ?? readable[0];
  if (chosen === undefined && kind === 'enclosed') return readingInside(content, search);
  return chosen && { ...chosen, shortest: Math.min(...readable.map(({ length }) => length)) };
}

function rewordings({ answer, length }: Reading, { inOtherWords }: AnswerSearch): readonly Reading[] {
  return (inOtherWords?.(answer) ?? []).map((words) => ({ ...words, length }));
}

/** Reads `<answer>The answer is 5</answer>`. */
function readingInside(content: string, search: AnswerSearch): ChosenReading | undefined {
  if (content.length > maxInside || /\\f?box/.test(content)) return undefined;
  const answer = findAnswer(content, { ...search, after: null, isWhole: false });
  return answer === null ? undefined : { answer, length: content.length, shortest: content.length };
}

/** The candidates are the whole line, its first sentence and its first clause. The first readable one is used. */
function readingsOf(content: string, kind: Mark['kind']): readonly Reading[] {
  const whole = { answer: withoutOuterBox(withoutEmphasis(content).replace(emptyWords, '')), length: content.length };
  if (kind !== 'line') return [whole];
  return [whole, upTo(content, /[.!]{1,5}(?=["')*_]{0,3}\s|["')*_]{0,3}$)|[。！]/), upTo(content, clauseEnd)];
}

const clauseEnd =
  /\s*(?:,\s*)?(?:\b(?:because|since|which|as|so|for|given|where|when|after|rather than|instead of|no matter|regardless|that is|i\.e)\b|(?:,\s*|\s)not\b|\s\(|;|\s[-–—]\s(?=[*_("']{0,3}(?:[a-z]{2}|an? [a-z]{3}))(?!(?:sqrt|sin|cos|tan|log|ln|exp|pi|abs|half|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|no)\b)|\s=>|[，；]\s?(?:而?不是|而非|因为)|是(?:正确|对)的|(?:です|である|だ|입니다|이다)(?=[。.!]?$)|(?:,\s*(?:and|but)|\sand) (?=(?:we|i|it|this|that|the|not|so|only (?:because|since))\b))/i;

function upTo(content: string, end: RegExp): Reading {
  const at = end.exec(content)?.index ?? content.length;
  return { answer: withoutEmphasis(content.slice(0, at)).replace(emptyWords, ''), length: at };
}

/** Words before a formula or a number that do not change its meaning. */
const emptyWords =
  /^(?:the (?:point|number|value|fraction|interval|set|pair|ordered pair|expression|function)|[Ee]xactly|[Aa] total of|[Ii]t(?:['’]s| is)) (?=[$\\(\d-])/;

/** Removes half an emphasis, such as that of `**42` from `**Answer: 42**`. */
function withoutEmphasis(text: string): string {
  const bare = text
    .trim()
    .replace(/^[*_]{1,3}\s*(?=\S)/, '')
    .replace(/[*_]{1,3}$/, '');
  return bare.trim();
}

function withoutOuterBox(text: string): string {
  const inside = /^[$\s]*\\(?:boxed|fbox)\s*\{(.*)\}[$\s.]*$/s.exec(text)?.[1];
  return inside === undefined || /\\f?box(?:ed)?\s*\{/.test(inside.replace(/^\\(?:boxed|fbox)\s*\{.*\}$/s, ''))
    ? text
    : withoutOuterBox(inside);
}

/** Words that may separate two guesses and do not announce a correction. */
const fillers =
  /\b(?:and|or|also|either|maybe|the|final|correct|right|statement|answer|answers|option|choice|is|are|it|could|be|alternatively|perhaps|boxed|part|case|an|first|second|third|approach|method|gives|yields)\b/gi;

/** Recognizes "The answer is 5 for adults. For children the answer is 6." */
const isCase =
  /^(?:[^.!?\n]{0,60}[.!;,\n])?\W*(?:for|if|when|unless|whereas|while|in case|otherwise)\b[^.!?\n]{0,80}$/i;

/** Whether the previous mark gives another answer, and no word between them explains the change. */
function isOneOfSeveral(
  said: string,
  earlier: readonly Mark[],
  { mark, read, search }: { readonly mark: Mark; readonly read: Read; readonly search: AnswerSearch },
): boolean {
  for (const other of earlier.toReversed().slice(0, 3)) {
    const content = contentOfMark(said, other);
    const reading = readingOf(content, other.kind, search);
    if (reading === undefined) continue;
    const end = other.kind === 'enclosed' ? other.end : other.from + reading.shortest;
    // Skips words up to the later mark: `Final answer: The answer is 5.`
    if (end > mark.start && other.from <= mark.start) continue;
    const between = said
      .slice(Math.min(end, mark.start), mark.start)
      .replaceAll(/\\[a-zA-Z]+/g, ' ')
      .replaceAll(fillers, ' ');
    return !isSameReading(reading.answer, read.answer, search) && (isCase.test(between) || !/\p{L}{2}/u.test(between));
  }
  return false;
}

function isSameReading(first: string, second: string, { isSame }: AnswerSearch): boolean {
  return first === second || (isSame?.(first, second) ?? false);
}

/** Subjects whose value a sentence may state. A subject such as "the letter to avoid" claims nothing. */
const subjects =
  'total|sum|value|result|difference|product|quotient|ratio|average|mean|median|mode|remainder|profit|loss|cost|price|charge|amount|number of|area|volume|perimeter|circumference|' +
  'probability|chance|percentage|share|length|width|height|depth|distance|radius|diameter|sides?|angle|slope|speed|velocity|acceleration|force|mass|weight|energy|power|temperature|' +
  'pressure|time|age|cent(?:er|re)|midpoint|intersection|domain|range|limit|integral|derivative|equation|function|point|vertex|roots?|maximum|minimum';
const rest = String.raw`(?: (?!(?:is|are|equals?)\b(?! divided))(?:[a-z'’-]{1,15}|\$[^$\n]{1,40}\$)|(?<=(?:between|by|of|and|from|to)) \$?\d{1,9}\$?){0,9}`;
const lead = new RegExp(
  String.raw`^(?:(?:(?:it|that|this)(?:['’]s| is| equals| costs| should be| must be)|i (?:think|believe)|i(?: would|['’]d| will|['’]ll)? (?:say|choose|pick|select|go with)|i(?: a|['’])m going with|my (?:choice|pick) is|` +
    String.raw`so|thus|therefore|hence|∴|a:|total:|=|→|=>|the (?:[a-z-]{1,15} ){0,2}(?:${subjects})${rest} (?:is|are|equals?|measures?))[,:]?\s+){1,3}`,
  'i',
);
/** Subjects of a sentence that repeats the question or quotes somebody: "the given length is 5". */
const repeated =
  /\b(?:given|question|problem|example|exercise|page|step|task|says|said|claims?|claimed|thinks|thought|guess|got|first|mistake|expected)\b/i;

/** Reads the whole text, apart from the signs of a formula and words such as "It is". */
function readWhole(said: string, search: AnswerSearch): string | null {
  const { isReadable, isPreferred } = search;
  const text = said.trim().replace(/(?<=\S)\s{0,5}\n####$/, '');
  // The answer was cut if a mark holds nothing or was never closed.
  if (/\\f?box(?:ed)?\s*\{|####|<(?:final_?)?answer>/.test(text)) return null;
  const fenced = /^```[a-z]{0,20}\n([^`]{1,300})\n```$/.exec(text)?.[1];
  if (fenced !== undefined) return readWhole(fenced, search);
  const inside = /^(?:\\\[|\$\$)\s*([^$]*?)\s*(?:\\\]|\$\$)$/.exec(text.slice(0, 2000))?.[1] ?? text;
  const readable = [...statedBy(withoutEmphasis(inside), search), inside].filter(
    (answer) => answer !== '' && isReadable(answer),
  );
  return readable.find((answer) => isPreferred?.(answer)) ?? readable[0] ?? readFirstLine(text, search);
}

/** The text after words such as "It is" and "The length is". */
function statedBy(text: string, { inOtherWords }: AnswerSearch): readonly string[] {
  const words = lead.exec(text)?.[0] ?? '';
  if (words === '' || repeated.test(words) || isDoubtedBefore(text, { start: 0, from: words.length }, false)) return [];
  const stated = text.slice(words.length);
  const others = inOtherWords?.(stated).filter(({ isStatement }) => !isStatement) ?? [];
  return [stated, ...others.map(({ answer }) => answer)];
}

function readFirstLine(text: string, { isReadable, isFirstLine }: AnswerSearch): string | null {
  const [line = '', rest = ''] = /^([^\n]{1,100})\n(.+)$/s.exec(text)?.slice(1) ?? [];
  const isAnswer = isFirstLine?.(line, rest) === true && isReadable(line);
  return isAnswer && !isDoubtedAfter(`\n${rest}`) ? line : null;
}
