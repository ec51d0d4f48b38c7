import { useMemo, useRef, useState } from 'preact/hooks';
import { showNumber, markHidden } from '../../src/page-logic/format.js';
import {
  advantageOf,
  lineAt,
  nextSurprise,
  shadeOf,
  shades,
  toTokenLines,
  type Shade,
  type TokenLine,
} from '../../src/page-logic/token-lines.js';
import type { EpisodeView } from '../../src/wire.js';
import { Segments } from '../parts/basics.js';
import { useKeys } from '../parts/keyboard.js';
import { Scroller, useVirtualRows } from '../parts/virtual-rows.js';
import { route, setQuery } from '../state/store.js';

const rowHeight = 26;

/**
 * Returns how many characters fit into a line. Its author, its position and the panel of the chosen token also need
 * room.
 */
function charactersOfLine(): number {
  const screen = document.documentElement.clientWidth;
  const lines = Math.min(1240, screen - 40) - (screen > 860 ? 290 : 0);
  return Math.max(24, Math.floor((lines - (screen > 860 ? 190 : 160)) / 8));
}

/** Every token of the episode once, as lines of which only those on the screen exist. */
export function Tokens({ episode }: { readonly episode: EpisodeView }) {
  const { query } = route.value;
  const scroller = useRef<HTMLDivElement>(null);
  const [width] = useState(charactersOfLine);
  const lines = useMemo(() => toTokenLines(episode.branches, width), [episode, width]);
  const { rows, totalSize, scrollTo } = useVirtualRows(scroller, lines.length, rowHeight);
  // A key may come before the last one is drawn.
  const present = (): number => Number(route.peek().query['token'] ?? -1);
  const chosen = Number(query['token'] ?? -1);
  const shade = shades.find((each) => each === query['colour']) ?? 'author';
  const choose = (at: number | undefined): void => {
    const line = at === undefined ? -1 : lineAt(lines, at);
    if (at === undefined || line === -1) return;
    setQuery({ token: String(at) });
    scrollTo(line);
  };
  useKeys(() => ({
    ArrowRight: () => choose(present() + 1),
    ArrowLeft: () => choose(present() - 1),
    n: () => choose(nextSurprise(lines, present())),
  }));
  return (
    <div class="tokens">
      <div class="bar sub">
        <Segments
          label="Colour of tokens"
          value={shade}
          options={shades.map((each) => [each, each] as const)}
          onChange={(colour) => setQuery({ colour: colour === 'author' ? '' : colour })}
        />
        <button type="button" onClick={() => choose(nextSurprise(lines, chosen))}>
          Next surprising token <kbd>n</kbd>
        </button>
        <span class="muted num">
          {showNumber(episode.treeTokens)} tokens, {showNumber(episode.rowTokens)} in{' '}
          {episode.branches.length === 1 ? 'one row' : 'rows'}
        </span>
      </div>
      <Legend shade={shade} episode={episode} />
      <div class="token-columns">
        <Scroller at={scroller} height="max(20rem, calc(100vh - 22rem))" label="Tokens">
          <div class="token-lines" style={{ height: `${totalSize}px` }}>
            {rows.map(({ index, start }) => {
              const line = lines[index];
              return line === undefined ? null : <Line key={index} {...{ line, start, shade, chosen, choose }} />;
            })}
          </div>
        </Scroller>
        <TokenFacts lines={lines} at={chosen} />
      </div>
    </div>
  );
}

const legends: Readonly<Record<Shade, readonly (readonly [string, string])[]>> = {
  author: [
    ['system', 'system'],
    ['user', 'user'],
    ['tool', 'tool'],
    ['foreign', 'foreign'],
    ['generated', 'sampled'],
    ['template', 'template'],
  ],
  logprob: [
    ['p0', 'under 20%'],
    ['p1', '20%'],
    ['p2', '40%'],
    ['p3', '60%'],
    ['p4', 'over 80%'],
  ],
  advantage: [
    ['n3', 'pushed down'],
    ['n1', 'a little'],
    ['zero', 'zero'],
    ['u1', 'a little'],
    ['u3', 'pushed up'],
  ],
  gap: [
    ['g1', 'over 0.01'],
    ['g2', 'over 0.1'],
    ['g3', 'over 0.5'],
  ],
};

function Legend({ shade, episode }: { readonly shade: Shade; readonly episode: EpisodeView }) {
  const hasGaps = episode.branches.some(({ runs }) => runs.some(({ gaps }) => gaps !== undefined));
  if (shade === 'gap' && !hasGaps)
    return <p class="muted hint">This run did not record what the trainer saw of each token.</p>;
  return (
    <ul class="token-legend">
      {legends[shade].map(([name, words]) => (
        <li key={name}>
          <i class={shade === 'author' ? `by-${name}` : name} aria-hidden="true">
            ab
          </i>
          {words}
        </li>
      ))}
    </ul>
  );
}

type LineProps = {
  readonly line: TokenLine;
  readonly start: number;
  readonly shade: Shade;
  readonly chosen: number;
  readonly choose: (at: number) => void;
};

function Line({ line, start, shade, chosen, choose }: LineProps) {
  const style = { transform: `translateY(${start}px)`, height: `${rowHeight}px` };
  if (line.kind === 'branch') return <BranchHead line={line} style={style} />;
  const { run, from, to, at, depth, isFirst } = line;
  const indent = Math.min(depth, 12);
  return (
    <div class={`token-line by-${run.author} shade-${shade}`} style={{ ...style, paddingLeft: `${indent * 14}px` }}>
      <span class="author">
        {isFirst
          ? (run.name ??
            (run.author === 'generated' ? `call ${run.turns.map((turn) => turn + 1).join(', ')}` : run.author))
          : ''}
      </span>
      <span class="place num">{run.start + from}</span>
      <code dir="auto">
        {run.texts.slice(from, to).map((text, offset) => (
          <i
            key={offset}
            class={`${shadeOf(run, from + offset, shade)} ${at + offset === chosen ? 'chosen' : ''}`}
            onClick={() => choose(at + offset)}
          >
            {markHidden(showToken(text))}
          </i>
        ))}
      </code>
    </div>
  );
}

type BranchHeadProps = { readonly line: Extract<TokenLine, { kind: 'branch' }>; readonly style: object };

function BranchHead({ line: { branch }, style }: BranchHeadProps) {
  const { depth, start, end, rows, forks } = branch;
  return (
    <div class="branch-head" style={{ ...style, paddingLeft: `${Math.min(depth, 12) * 14}px` }}>
      <b>{depth === 0 ? 'tokens' : 'branch'}</b> {start}–{end - 1}
      <span class="muted"> {rows.length === 1 ? `row ${rows[0]}` : `${rows.length} rows`}</span>
      {forks.map(({ turn, cause, reason }) => (
        <span key={turn} class="fork">
          call {turn + 1} forked, {cause}: {reason}
        </span>
      ))}
    </div>
  );
}

/** Blanks at the end of a line and line breaks are visible. */
function showToken(text: string): string {
  return text === '' ? '▫' : text.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replaceAll('\r', '␍');
}

function TokenFacts({ lines, at }: { readonly lines: readonly TokenLine[]; readonly at: number }) {
  const line = lines[lineAt(lines, at)];
  if (line?.kind !== 'tokens') return <aside class="token-facts muted">Choose a token, or use ← and →.</aside>;
  const { run, from } = line;
  const place = from + at - line.at;
  const logprob = run.logprobs?.[place];
  const facts: readonly (readonly [string, string])[] = [
    ['text', JSON.stringify(run.texts[place] ?? '')],
    ['id', String(run.ids[place])],
    ['place', String(run.start + place)],
    ['written by', run.author === 'generated' ? 'the model, trained' : run.author],
    ...(logprob === undefined
      ? []
      : ([
          ['probability', showNumber(Math.exp(logprob))],
          ['logprob', showNumber(logprob)],
          ['advantage', showNumber(advantageOf(run, place))],
          ['gap to the trainer', run.gaps === undefined ? 'not recorded' : showNumber(run.gaps[place])],
        ] as const)),
  ];
  return (
    <aside class="token-facts" aria-live="polite">
      <dl>
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class="mono">{value}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
