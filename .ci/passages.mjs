// Finds the passages of a file that people read: comments, strings of several words, and pages. Inline code and values
// that are filled in become the word X, so that no phrase is found across them.
import { parseSync, Visitor } from 'oxc-parser';

const withoutCode = (text) => text.replace(/`[^`\n]*(?:\n[^`\n]*)?`/g, ' X ');
const hasWords = (text) => /\p{L}\S*\s+\S*\p{L}/u.test(text);
const isBlank = (text) => /^\s*$/.test(text);

/** Returns a function that gives the line of an offset. */
function lineCounter(source) {
  const ends = [...source.matchAll(/\n/g)].map(({ index }) => index);
  return (offset) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] < offset) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}

/** Joins pieces that follow each other, since a sentence may cover several lines of comment or parts of a string. */
function joinPieces(pieces, source, belongTogether) {
  const joined = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (last?.kind === piece.kind && belongTogether(piece.kind, source.slice(last.end, piece.start))) {
      last.text += (piece.kind === 'Line' ? '\n' : '') + piece.text;
      last.end = piece.end;
    } else joined.push({ ...piece });
  }
  return joined;
}

/**
 * Returns the words of an expression that makes a string. It adds the expression's nodes to `parts`, so that none of
 * them is read twice.
 */
function stringText(node, parts) {
  parts.add(node);
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : 'X';
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked ?? value.raw).join('X');
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return 'X';
  return stringText(node.left, parts) + stringText(node.right, parts);
}

/** Returns the strings and templates of a program. A sum of strings counts as one string. */
function stringsOf(program) {
  const strings = [];
  const parts = new Set();
  const add = (node) => {
    if (!parts.has(node)) strings.push({ text: stringText(node, parts), start: node.start });
  };
  new Visitor({
    BinaryExpression: (node) => node.operator === '+' && add(node),
    Literal: (node) => typeof node.value === 'string' && add(node),
    TemplateLiteral: add,
  }).visit(program);
  return strings;
}

function scriptPieces(source) {
  const { program, comments } = parseSync('passages.ts', source);
  const pieces = comments.map(({ type, value, start, end }) => ({ kind: type, text: value, start, end }));
  const joined = joinPieces(pieces, source, (kind, gap) => kind === 'Line' && /^[^\S\n]*\n[^\S\n]*$/.test(gap));
  const plain = (text) => withoutCode(text.replace(/^\s*\*+ ?/gm, '').replace(/(?<=^|\s)@[a-z]+(?=\s)/g, ''));
  const strings = stringsOf(program).map((string) => ({ ...string, text: withoutCode(string.text) }));
  return [...joined.map((piece) => ({ ...piece, text: plain(piece.text) })), ...strings];
}

const pythonToken =
  /#(?<comment>[^\n]*)|(?<prefix>[rbfu]{0,2})(?<quote>"""|'''|"|')(?<string>(?:\\[^]|(?!\k<quote>)[^])*?)\k<quote>/gi;

function pythonPieces(source) {
  return joinedPython(source).map((piece) => ({ ...piece, text: withoutCode(piece.text) }));
}

function joinedPython(source) {
  const pieces = [...source.matchAll(pythonToken)].map(({ index, 0: whole, groups }) => {
    const string = /f/i.test(groups.prefix ?? '') ? groups.string.replace(/\{[^{}]*\}/g, 'X') : groups.string;
    const kind = groups.comment === undefined ? 'String' : 'Line';
    return { kind, text: groups.comment ?? string?.replaceAll('\\n', '\n'), start: index, end: index + whole.length };
  });
  return joinPieces(pieces, source, (_kind, gap) => isBlank(gap));
}

/**
 * Returns the strings of a file in TypeScript or Python with their inline code, except docstrings. A value that is
 * filled in becomes the word X.
 */
export function stringsIn(source, file) {
  const lineAt = lineCounter(source);
  const strings = file.endsWith('.py')
    ? joinedPython(source).filter(
        ({ kind, start }) => kind === 'String' && !/^[rbfu]{0,2}(?:"""|''')/i.test(source.slice(start)),
      )
    : stringsOf(parseSync('strings.ts', source).program);
  return strings.map(({ text, start }) => ({ text, line: lineAt(start) }));
}

/** Returns comments that begin with `#` and, for a shell script, strings in double quotes. */
function hashPieces(source, isShell = false) {
  const comments = [...source.matchAll(/(?<=^|\s)#+(?: |$)(?<text>.*)$/gm)].map(({ index, 0: whole, groups }) => ({
    kind: 'Line',
    text: groups.text,
    start: index,
    end: index + whole.length,
  }));
  const strings = isShell ? [...source.matchAll(/^[^#\n]*?"(?<text>[^"]*)"/gm)] : [];
  return [
    ...joinPieces(comments, source, (_kind, gap) => /^\n[^\S\n]*$/.test(gap)),
    ...strings
      .filter(({ groups }) => !groups.text.includes('$('))
      .map(({ index, groups }) => ({ text: groups.text.replace(/\$\{?\w+\}?/g, 'X'), start: index })),
  ].map((piece) => ({ ...piece, text: withoutCode(piece.text) }));
}

const listMark = /^\s*(?:[-*] |\d+\. |#+ |> )/;
const plainPage = (text) =>
  withoutCode(text)
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_]{2}/g, '');

/** Returns the paragraphs, list items, headings and cells of a page, and the comments in its code blocks. */
function pagePieces(source) {
  const pieces = [];
  let isOpen = false;
  let at = 0;
  const [...blocks] = source.matchAll(/^[^\S\n]*```(\w*)[^\n]*\n([^]*?)^[^\S\n]*```[^\S\n]*$/gm);
  for (const { index, 0: whole, 1: language, 2: code } of blocks) {
    const start = index + whole.indexOf('\n') + 1;
    for (const piece of piecesOf(code, `block.${language || 'sh'}`))
      pieces.push({ ...piece, start: start + piece.start });
  }
  const blank = (found) => found.replace(/[^\n]/g, ' ');
  const prose = [...blocks.map(([whole]) => whole), ...(source.match(/<!--[^]*?-->/g) ?? [])].reduce(
    (page, hidden) => page.replace(hidden, blank),
    source,
  );
  for (const line of prose.split('\n')) {
    const isRow = /^\s*\|/.test(line);
    if (isRow) pieces.push(...line.split(/(?<!\\)\|/).map((cell) => ({ text: cell, start: at })));
    else if (isOpen && !isBlank(line) && !listMark.test(line)) pieces.at(-1).text += `\n${line}`;
    else if (!isBlank(line)) pieces.push({ text: line.replace(listMark, ''), start: at });
    isOpen = !isRow && !isBlank(line);
    at += line.length + 1;
  }
  return pieces.map((piece) => ({ ...piece, text: plainPage(piece.text) }));
}

function piecesOf(source, file) {
  const kind = /\.(\w+)$/.exec(file)?.[1] ?? '';
  if (/^(?:[cm]?[jt]sx?|typescript|javascript)$/.test(kind)) return scriptPieces(source);
  if (/^py(?:thon)?$/.test(kind)) return pythonPieces(source);
  if (kind === 'md') return pagePieces(source);
  if (/^(?:ya?ml|toml|service)$/.test(kind) || file.endsWith('Dockerfile')) return hashPieces(source);
  if (/^(?:ba)?sh$/.test(kind) || /^#!.*\b(?:ba)?sh\b/.test(source)) return hashPieces(source, true);
  return [];
}

/** Returns passages as `{ text, line }`. A file that is not code, a script, a configuration or a page has none. */
export function passagesOf(source, file) {
  const lineAt = lineCounter(source);
  return piecesOf(source, file)
    .filter(({ text }) => hasWords(text))
    .map(({ text, start }) => ({ text, line: lineAt(start) }));
}
