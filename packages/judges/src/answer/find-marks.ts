/**
 * Finds the places at which a message says "this is my answer". Each kind of mark takes one pass, so no message can
 * keep a judge busy.
 */

export type Mark = {
  /** `text.slice(start, end)` is the mark with its content. */
  readonly start: number;
  readonly end: number;
  /** The index at which the content begins. */
  readonly from: number;
  /**
   * Marks of kind `enclosed` are `\boxed{}`, `\fbox{}` and `<answer>`, which delimit their content. The content of a
   * mark of kind `line` is the rest of the line, which may contain more than the answer.
   */
  readonly kind: 'enclosed' | 'heading' | 'line' | 'verdict';
};

/** The maximum length of a line that can be an answer. */
const maxLine = 300;

/**
 * Returns all marks in the order of their ends. Marks inside another mark are dropped, and a sentence is dropped if it
 * contains a box.
 */
export function findMarks(text: string, after: string | null): readonly Mark[] {
  if (after !== null) return linesAfter(text, after);
  const enclosed = withoutNested([...boxes(text), ...tags(text)]);
  const lines = [
    ...linesAfter(text, '####', 'heading'),
    ...labels(text),
    ...headings(text),
    ...fields(text),
    ...verdicts(text),
  ];
  const free = withoutCovered(lines, enclosed);
  return [...enclosed, ...free].toSorted((left, right) => left.end - right.end);
}

function boxes(text: string): readonly Mark[] {
  const found: Mark[] = [];
  const open: ({ readonly start: number; readonly from: number } | null)[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') open.push(null);
    else if (text[at] === '}') {
      const box = open.pop();
      if (box) found.push({ ...box, end: at + 1, kind: 'enclosed' });
    } else if (text[at] === '\\' || (text[at] === 'b' && !/[a-z\\]/i.test(text.charAt(at - 1)))) {
      const command = /^(?:\\(?:boxed|fbox)\s{0,3}|boxed)\{/.exec(text.slice(at, at + 12))?.[0];
      if (command !== undefined) open.push({ start: at, from: at + command.length });
      if (text[at] === '\\' || command !== undefined) at += command === undefined ? 1 : command.length - 1;
    }
  }
  return found.filter((mark) => text.slice(mark.from, mark.end - 1).trim() !== '');
}

function tags(text: string): readonly Mark[] {
  const found: Mark[] = [];
  let open: { readonly start: number; readonly from: number } | null = null;
  for (const { 0: tag, index } of text.matchAll(/<(\/?)(?:final_?)?answer>/gi)) {
    if (tag[1] !== '/') open = { start: index, from: index + tag.length };
    else if (open !== null) {
      found.push({ ...open, end: index + tag.length, kind: 'enclosed' });
      open = null;
    }
  }
  return found;
}

/** Returns the content of a mark. */
export function contentOfMark(text: string, { from, end, kind }: Mark): string {
  const content = text.slice(from, end);
  const isDisplayed = /^(?:\$\$|\\\[)/.test(content);
  if (isDisplayed) return content.replaceAll('\n', ' ').trim();
  return (kind === 'enclosed' ? content.replace(/(?:\}|<\/(?:final_?)?answer>)$/i, '') : content).trim();
}

/** Keeps the outermost of nested marks: `<answer>\boxed{5}</answer>` is one answer. */
function withoutNested(marks: readonly Mark[]): readonly Mark[] {
  const kept: Mark[] = [];
  for (const mark of marks.toSorted((left, right) => left.start - right.start || right.end - left.end))
    if (mark.start >= (kept.at(-1)?.end ?? 0)) kept.push(mark);
  return kept;
}

/** Keeps the lines that do not overlap an enclosed mark. Both lists are sorted, so one pass is enough. */
function withoutCovered(lines: readonly Mark[], enclosed: readonly Mark[]): readonly Mark[] {
  const kept: Mark[] = [];
  let at = 0;
  for (const line of lines.toSorted((left, right) => left.start - right.start)) {
    while ((enclosed[at]?.end ?? Infinity) <= line.start) at++;
    if ((enclosed[at]?.start ?? Infinity) >= line.end) kept.push(line);
  }
  return kept;
}

/** Finds the rest of the line after each mark, or the next non-empty line. */
function linesAfter(text: string, mark: string, kind: 'line' | 'heading' = 'line'): readonly Mark[] {
  const found: Mark[] = [];
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + mark.length)) {
    const line = lineFrom(text, at + mark.length);
    if (line === null || text.startsWith('#', at + mark.length)) continue;
    const next = text.indexOf(mark, line.from);
    found.push({ start: at, from: line.from, end: next < 0 ? line.end : Math.min(next, line.end), kind });
  }
  return found;
}

/**
 * Finds the first line with text at or after this position, after at most a few empty lines. Returns null if no text
 * follows.
 */
function lineFrom(text: string, at: number): { readonly from: number; readonly end: number } | null {
  const gap = /^\s{0,40}(?:```[a-z]{0,10}\n\s{0,10})?/.exec(text.slice(at, at + 65))?.[0].length ?? 0;
  const from = at + gap;
  const breaks = text.indexOf('\n', from);
  const end = Math.min(breaks < 0 ? text.length : breaks, from + maxLine);
  return from >= text.length || /\s/.test(text.charAt(from)) ? null : { from, end: mathEnd(text, from, end) };
}

/**
 * Returns the end of a line. If a formula between `\[` and `\]`, or between `$$` and `$$`, spans several lines, it
 * returns the end of the formula.
 */
function mathEnd(text: string, from: number, end: number): number {
  const open = text.slice(from, from + 2);
  const close = open === '\\[' ? text.indexOf('\\]', from + 2) : open === '$$' ? text.indexOf('$$', from + 2) : -1;
  return close > end && close < from + maxLine ? close + 2 : end;
}

const noun = String.raw`(?:answer|solution|result)s?`;
const chosen = String.raw`(?:correct|right|best|final|my)\s{1,3}(?:option|choice|letter|statement|value|number)`;
const adverbs = String.raw`(?:[ \t]{1,3}(?:therefore|thus|then|hence|simply|just|clearly|indeed|definitely|certainly|exactly|equal to|given by)\b,?){0,3}`;
const labelled = new RegExp(
  String.raw`\b(?:${noun}\b[^.!?\n:=]{0,60}?|${chosen}\b[^.!?\n:=]{0,30}?)(?:\b(?:is|are|was|would (?:then |thus |therefore )?be|will be|should be|must be|equals|corresponds to)\b)${adverbs}[ \t]{0,3}(?::|\.{3}|…)?[ \t]{0,3}` +
    String.raw`|(?<!\p{L})answers?(?: choice)?(?:[*_ \t)]{0,5}(?:=>|->|[:=→])(?:[ \t]?\})?|[ \t]{1,3}[-–—](?=[ \t]))` +
    String.raw`|(?<=(?:^|\n)[ \t*_#>-]{0,8})ans\.(?=[ \t])` +
    String.raw`|(?<=(?:^|\n)[ \t*_#>-]{0,8})(?:ans|solution|result|(?:selected |chosen )?(?:choice|option|letter)|output)\.?[*_ \t]{0,5}[:=]` +
    String.raw`|(?<=(?:^|\n)[ \t*_#>-]{0,8})(?:the )?(?:correct|right|best|final|my)(?: option| choice| letter)?[*_ \t]{0,5}[:=]` +
    String.raw`|(?:答案|答え?|正解|정?답)[ \t]{0,3}(?:是|为|は|은|[:：])|(?<![不没])选择?(?=[(（]?[A-Z](?![a-z]))|选项(?=[A-Z]是(?:正确|对)的(?!吗))` +
    String.raw`|(?<!\p{L})(?:respuesta|resposta|alternativa|risposta|réponse|antwort|antwoord|odpowiedź|svar|cevap|ответ)(?: finale?| corr?ec?t?[ae])?(?: (?:es|é|è|est|ist|lautet|is|to|är|er)(?!\p{L})|[ \t]{0,3}:)` +
    String.raw`[ \t]{0,3}:?[ \t]{0,3}(?:(?:la|el|a|o|die|letra|lettre|opción|opção|option)[ \t]{1,3}(?=(?:\p{L}{5,7}[ \t]{1,3})?\(?[A-Z](?!\p{L}))){0,2}`,
  'giu',
);

/** Finds "The answer is ..." and "Answer: ...". */
function labels(text: string): readonly Mark[] {
  const found: Mark[] = [];
  for (const { 0: label, index } of text.matchAll(labelled)) {
    const line = lineFrom(text, index + label.length);
    if (line !== null) found.push({ start: index, ...line, kind: 'line' });
  }
  return found;
}

/** Finds a line that contains only "Final answer". */
function headings(text: string): readonly Mark[] {
  const found: Mark[] = [];
  for (const { 0: line, index } of text.matchAll(
    /(?:^|\n)[ \t#*_]{0,8}(?:the )?(?:final )?answer[ \t*_:]{0,5}(?=\n)/gi,
  )) {
    const next = lineFrom(text, index + line.length);
    if (next !== null) found.push({ start: index, ...next, kind: 'line' });
  }
  return found;
}

/** Finds `"answer": 5` in JSON. */
function fields(text: string): readonly Mark[] {
  const found: Mark[] = [];
  const field =
    /["'](?:(?:final_?)?answer|choice)["']\s{0,3}:\s{0,3}(?:["']([^"'\\\n]{1,300})["']|(-?[\d.]{1,60}))(?=\s{0,10}[,}])/gi;
  for (const { 0: all, 1: words, 2: digits, index } of text.matchAll(field)) {
    const end = index + all.length - (words === undefined ? 0 : 1);
    found.push({ start: index, from: end - (words ?? digits ?? '').length, end, kind: 'heading' });
  }
  return found;
}

const opening =
  /^(?:[a-z]{3}[a-z ]{0,27}:\s+)?(?:(?:among|of|from|out of|based on|according to|therefore|thus|hence|so|given)\b[^,.\d]{0,60},\s+|(?:therefore|thus|hence|so|but|only|(?:this|that|which) means(?: that)?)\s+)?(?=\S)/i;

/** Finds "42 is the answer" and "(B) is the correct choice". */
function verdicts(text: string): readonly Mark[] {
  const found: Mark[] = [];
  const claim =
    /\b(?:is|was|must be) (?:the|my|our) (?:final |correct |right |best ){0,2}(?:answer|choice|option|solution|(?<=(?:correct|right) )one)\b(?! (?:to|for|of) (?:an?|another|some|any|other)\b|\s?[?？])|\bis (?:also )?(?:correct|right)(?=[.!]|\s{0,3}\n|\s{0,3}$|,? (?:and|while) [^.!?\n]{1,60} (?:is|are) (?:incorrect|wrong|false)[.!]?$)/gi;
  for (const { 0: words, index } of text.matchAll(claim)) {
    const before =
      text
        .slice(Math.max(0, index - 100), index)
        .split(/(?<=[.!?\n])\s(?=\S)/)
        .at(-1) ?? '';
    const sentence = /(?:^|[.!?\n:]\s|\n|,\s)([^\n]{1,60}?)\s$/.exec(before)?.[1] ?? before;
    const content = sentence.replace(opening, '');
    found.push({
      start: index - 1 - content.length,
      from: index - 1 - content.length,
      end: index - 1,
      kind: 'verdict',
    });
    if (words === '') break;
  }
  return found.filter(({ start }) => start >= 0);
}
