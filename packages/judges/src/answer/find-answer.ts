/**
 * Where in a model's words its answer is. Thoughts are never searched. Of several answers the last counts, so that a model which
 * corrects itself is judged by the correction.
 */

/** What is left if thinking blocks are taken out. A block that was never closed goes to the end; one that the template opened begins the text. */
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

/** How answers are marked, the clearest mark first. */
export type Marks = { readonly after: string | null };

/** The last marked answer, or null: after `marks.after` if that is given; else in `\boxed{}`, in `<answer>` tags, after `####`, after "answer is" or "Answer:". */
export function findMarked(text: string, marks: Marks): string | null {
  const said = withoutThoughts(text);
  if (marks.after !== null) return lineAfterLast(said, marks.after);
  return lastBoxed(said) ?? lastTagged(said) ?? lineAfterLast(said, '####') ?? afterAnswerIs(said);
}

/** What the last `\boxed{...}` or `\fbox{...}` holds; its braces are balanced. Null if there is none, or its braces are not closed. */
export function lastBoxed(text: string): string | null {
  const start = Math.max(text.lastIndexOf('\\boxed{'), text.lastIndexOf('\\fbox{'));
  if (start < 0) return null;
  const open = text.indexOf('{', start);
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return text.slice(open + 1, at).trim();
  }
  return null;
}

/** What is between the last `<answer>` and the `</answer>` that follows it. */
function lastTagged(text: string): string | null {
  const close = text.toLowerCase().lastIndexOf('</answer>');
  if (close < 0) return null;
  const open = text.toLowerCase().lastIndexOf('<answer>', close);
  return open < 0 ? null : text.slice(open + '<answer>'.length, close).trim();
}

function lineAfterLast(text: string, mark: string): string | null {
  const at = text.lastIndexOf(mark);
  if (at < 0) return null;
  const line = text
    .slice(at + mark.length)
    .trimStart()
    .split('\n', 1)[0];
  return line === undefined || line.trim() === '' ? null : line.trim();
}

function afterAnswerIs(text: string): string | null {
  const marks = [...text.matchAll(/\banswer\s*(?:is|[:=])(?:\s*:)?\s*([^\n]{1,300})/gi)];
  const said = marks
    .at(-1)?.[1]
    ?.replace(/^\**\s*/, '')
    .trim();
  return said === undefined || said === '' ? null : said;
}
