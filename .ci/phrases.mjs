// Phrases that these sources do not use, since readers stumble over them. Each has a pattern. `unless` lists the senses
// that are plain English. They are recognized by the words around the phrase. In the string that is compared, « and »
// enclose the phrase.

const oneOf = (words) => `(?:${words})`;
const aPlace = oneOf(
  'place|point|position|spot|side|end|edge|byte|offset|character|line|row|column|cell|table|list|map|tree|branch|node|leaf|turn|step|layer|message|file|folder|' +
    'directory|cache|path|page|section|block|text|package|project|registry|repository|module|world|machine|host|server|process|thread|loop|terminal|window|shell|memory|disk|' +
    'slot|queue|case|situation|environment|address|hub',
);
const aKnowingVerb = oneOf(
  '(?:say|show|see|know|note|find|look|ask|decide|describe|remember|learn|check|point|name|count|read|record|stay|belong|depend|begin|start|resume|continue|write|put|live|return|give|run|keep|store)s?' +
    '|said|shown|seen|known|noted|found|asked|decided|described|learned|checked|named|counted|recorded|depends? on|is|are|was|were|up|down',
);
const someWords = (most) => `(?:[\\w'-]+ ){0,${most}}`;

/** Each entry has the phrase, what to write instead, the pattern, and the senses that are allowed. */
export const phrases = [
  { phrase: 'whoever', instead: 'the person or the part that is meant', pattern: /\bwhoever\b/gi },
  { phrase: 'whatever', instead: 'what is meant, or "any"', pattern: /\bwhatever\b/gi },
  { phrase: 'of its own', instead: '"its own X", "a separate X", or nothing', pattern: /\bof its own\b/gi },
  { phrase: 'of their own', instead: '"their own X", "separate X", or nothing', pattern: /\bof their own\b/gi },
  {
    phrase: 'stands',
    instead: '"is", or "means"',
    pattern: /\bstands?\b(?!-)/gi,
    unless: [
      /» in for\b/, // a replacement
      /(?:\bX|["'”’*)]|\b[A-Z]{2,}|\b\w) «stands?» for\b/, // a symbol or an abbreviation
      /» out\b/,
    ],
  },
  {
    phrase: 'goes on',
    instead: '"continues", "resumes", or the verb that is meant',
    pattern: /\b(?:go|goes|went|going|gone) on\b/gi,
    unless: [
      /» (?:top|stdout|stderr|disk|the|an?|its|their|each|every|one|this|that|another|both)\b/, // a place
      /\b(?:is|was|['’]s) «going on»/i, // happens
    ],
  },
  {
    phrase: 'a text',
    instead: '"a string", or "text"',
    pattern: /\ba text\b(?!-)/gi,
    unless: [
      /» (?:file|editor|field|box|area|message|block|node|part|part's|format|encoder|column|model|mode|browser|stream|delta|content|input|output|tool)s?\b/,
    ],
  },
  {
    phrase: 'is no',
    instead: '"is not a"',
    pattern: /\b(?:is|are|was|were|be|been) no\b(?= \p{L})/giu,
    unless: [
      new RegExp(`\\bthere(?:['’]s| ${someWords(2)})«`, 'i'),
      /«(?:is|are|was|were) no» (?:longer|more|fewer|less|later|sooner|better|worse|different|one|use|need|doubt|good)\b/,
      /» \w+er than\b/,
      /» (?:if|when|and|or|but|because|until|unless)\b/, // the answer no
    ],
  },
  {
    phrase: 'is none',
    instead: '"is not one", or the noun',
    pattern: /\b(?:is|are|was|were) none\b/g,
    unless: [new RegExp(`\\bthere ${someWords(2)}«`, 'i'), /» %/], // of a template
  },
  {
    phrase: 'beside',
    instead: '"next to", or "in addition to"',
    pattern: /\bbeside\b/gi,
    unless: [
      new RegExp(
        `» (?:the|an?|its|their|this|that|your|our|each|every) ${someWords(2)}(?:file|folder|directory|source|page|script)s?\\b`,
      ),
    ],
  },
  {
    phrase: 'behind',
    instead: '"after", or "through"',
    pattern: /\bbehind\b(?!-)/gi,
    unless: [
      /\b(?:leaves?|leaving|left) [^.]*«behind»/i,
      /\b(?:falls?|fell|falling|lags?|stays?) [^.]*«behind»/i,
      /(?:\bfar|\bsteps?|\bversions?|\bupdates?|\bcommits?|\b(?:is|are|be)) «behind»(?: X| by\b|[.,;:)]|$)/i,
      new RegExp(
        `» (?:the|an?|its|their|this|that|your|our|each|every|one) ${someWords(3)}` +
          '(?:proxy|gateway|firewall|balancer|flag|address|URL|interface|contract|endpoint|API|server|agent|adapter|network)s?\\b',
        'i',
      ),
    ],
  },
  {
    phrase: 'tells',
    instead: '"reports", "says", "is called with", "is reported"',
    pattern: /\b(?:tells|told|tell of)\b/gi,
    unless: [
      /» [^.;]*\bapart\b/,
      new RegExp(`«tells» ${someWords(4)}from (?!now)`), // distinguishes
      /«told» to (?!the|each|every|an?|its|those|no|any|all)\w/, // ordered
      /» (?:otherwise|you|me|us)\b/,
    ],
  },
  {
    phrase: 'where',
    instead: '"if", or "while" for a contrast',
    pattern: /(?<![\w*|.])[wW]here\b/g,
    unless: [
      /\?/, // a question
      /» (?:to\b|(?:they|it) (?:are|is|were|was|belongs?)(?:[,.;:)]|$))/,
      // A description of a place. "Where A is, B happens." is a condition.
      /(?:^|[(["“:;—-] ?)«where»(?! [^:;,]*, (?!(?:and|or|but|nor|as|in|with|such|if|by|which|one|from|for|relative|so|where|how|what)\b))/i,
      /\b(?:and|or) «where»/,
      new RegExp(`\\b${aPlace}s?,? «where»`, 'i'),
      /\b(?:every|any|some|else)?(?:here|where),? «where»/i,
      new RegExp(`\\b${aKnowingVerb} «where»`, 'i'),
      /\b(?:from|of|by|about|to|at|near|in|matter|exactly|right|just|regardless of) «where»/i,
      /, «where» (?:(?:X|\w|\w+Ids?|rank) (?:is|are|=)|\w+ \{)/, // the symbols of a formula or schema
    ],
  },
];

/** Returns the sentences of a passage. Line breaks become spaces. */
export const sentencesOf = (text) =>
  text
    .replace(/\n\s*\n|\n\s*[-*] /g, '\u0000')
    .replace(/\s+/g, ' ')
    .split(/\u0000|(?<=[.!?]["”')]?) (?=["“'(]?[\p{Lu}\d])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => (sentence.match(/\p{L}[\p{L}'’-]*/gu) ?? []).length >= 3);

/** Returns the phrases of a sentence that have a sense that is not plain English. */
export const bannedIn = (sentence) =>
  phrases.flatMap(({ phrase, pattern, unless = [] }) =>
    [...sentence.matchAll(pattern)]
      .filter(({ index, 0: found }) => {
        const marked = `${sentence.slice(0, index)}«${found}»${sentence.slice(index + found.length)}`;
        return !unless.some((sense) => sense.test(marked));
      })
      .map(({ index, 0: found }) => ({ phrase, around: around(sentence, index, found) })),
  );

const around = (sentence, index, found) =>
  `${sentence.slice(Math.max(0, index - 50), index)}«${found}»${sentence.slice(index + found.length, index + found.length + 40)}`;
