import { useEffect, useRef } from 'preact/hooks';
import { showCount, showNumber, showRate, showSeconds, showSigned } from '../../src/page-logic/format.js';
import type { EpisodeView, Said } from '../../src/wire.js';
import { FactList, Link, Panel, Result, Segments, Shown, Words } from '../parts/basics.js';
import { OutcomeList } from '../parts/outcome-list.js';
import { useKeys } from '../parts/keyboard.js';
import { WideTable } from '../parts/table.js';
import { answerOf, go, route, setQuery } from '../state/store.js';
import { Timeline } from './timeline.js';
import { Tokens } from './tokens.js';

/** One episode: the conversation, its tokens, and the times of its calls. */
export function Episode() {
  const { run, item } = route.value;
  const answer = answerOf<EpisodeView>(`runs/${run}/episode?id=${encodeURIComponent(item)}`);
  return (
    <div class="page">
      <Shown of={answer}>{(episode) => <Body episode={episode} run={run} />}</Shown>
    </div>
  );
}

function Body({ episode, run }: { readonly episode: EpisodeView; readonly run: string }) {
  const { query } = route.value;
  const shown = query['show'] ?? 'conversation';
  const at = episode.siblings.findIndex(({ id }) => id === episode.id);
  const move = (by: number): void => {
    const next = episode.siblings[at + by];
    if (next !== undefined) go({ view: 'episode', run, item: next.id, query });
  };
  const toGroup = { view: 'group', run, item: episode.group, query: { step: String(episode.step) } } as const;
  useKeys(() => ({ h: () => move(-1), l: () => move(1), u: () => go(toGroup) }));
  return (
    <>
      <div class="bar">
        <h1 class="mono id">{episode.id}</h1>
        <Result isSuccess={episode.isSuccess} error={episode.status === 'failed' ? 'failed' : ''} />
      </div>
      <p class="muted where">
        <Link to={{ view: 'step', run, item: String(episode.step) }}>step {episode.step}</Link> ·{' '}
        {episode.phase === 'evaluation' ? 'evaluation' : 'training'} · {showSeconds(episode.seconds)}
        {episode.group !== '' && (
          <>
            {' '}
            · <Link to={toGroup}>its group</Link>
          </>
        )}
        {episode.phase === 'evaluation' && (
          <>
            {' '}
            · <Link to={{ view: 'task', run, item: episode.task }}>this task in each evaluation</Link>
          </>
        )}
      </p>
      <Outcome episode={episode} />
      {episode.siblings.length > 1 && <Siblings episode={episode} run={run} />}
      <div class="bar sub">
        <Segments
          label="Part of the episode"
          value={shown}
          options={[
            ['conversation', 'Conversation'],
            ['tokens', 'Tokens'],
            ['time', 'Time'],
            ['facts', 'Facts'],
          ]}
          onChange={(show) => setQuery({ show: show === 'conversation' ? '' : show })}
        />
      </div>
      {shown === 'tokens' ? (
        <Tokens episode={episode} />
      ) : shown === 'time' ? (
        <Timeline episode={episode} />
      ) : shown === 'facts' ? (
        <Facts episode={episode} />
      ) : (
        <Conversation said={episode.said} />
      )}
    </>
  );
}

/** Question, expected, answered and why, before anything else. */
function Outcome({ episode: { outcome, reward, parts } }: { readonly episode: EpisodeView }) {
  const rows = [
    ['Question', outcome.question],
    ['Expected', outcome.expected],
    ['Answered', outcome.answered],
    ['Reason', outcome.reason],
    ['Error', outcome.error],
  ] as const;
  return (
    <OutcomeList rows={rows}>
      <div>
        <dt>Reward</dt>
        <dd class="num">
          {reward === null ? '–' : showNumber(reward)}
          {Object.entries(parts).map(([name, value]) => (
            <span key={name} class="part">
              {name} {showNumber(value)}
            </span>
          ))}
        </dd>
      </div>
    </OutcomeList>
  );
}

function Siblings({ episode, run }: { readonly episode: EpisodeView; readonly run: string }) {
  return (
    <nav class="siblings" aria-label="Episodes of the group">
      {episode.siblings.map(({ id, reward, isSuccess }, at) => (
        <a
          key={id}
          href={`#/run/${run}/episode/${encodeURIComponent(id)}`}
          class={`${reward === null ? 'none' : isSuccess ? 'good' : 'bad'}`}
          aria-current={id === episode.id ? 'true' : undefined}
        >
          <i aria-hidden="true">{reward === null ? '!' : isSuccess ? '✓' : '✕'}</i>
          <span class="sr">{isSuccess ? 'success' : 'failure'}, episode</span> {at + 1} <span class="sr">reward</span>
          <span class="num">{showRate(reward)}</span>
        </a>
      ))}
    </nav>
  );
}

const authorWords: Readonly<Record<string, string>> = {
  system: 'system',
  user: 'user',
  tool: 'tool',
  model: 'model, sent again',
  foreign: 'assistant, not by this model',
  opening: 'opening of the answer',
  generated: 'model',
};

function Conversation({ said }: { readonly said: readonly Said[] }) {
  if (said.length === 0) return <p class="empty">No model call was recorded.</p>;
  const agents = new Set(said.map(({ agent }) => agent));
  const quote = route.value.query['quote'] ?? '';
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => list.current?.querySelector('mark')?.scrollIntoView({ block: 'center' }), [quote]);
  return (
    <ol class="conversation" ref={list}>
      {said.map((message, at) => (
        <Message key={at} message={message} showsAgent={agents.size > 1} quote={quote} />
      ))}
    </ol>
  );
}

type MessageProps = { readonly message: Said; readonly showsAgent: boolean; readonly quote: string };

function Message({ message, showsAgent, quote }: MessageProps) {
  const { author, agent, name, text, turn, isCut, isRepeated, fork, tokens, meanLogprob, advantage } = message;
  const who = [showsAgent ? agent : '', authorWords[author] ?? author, name ?? '']
    .filter((word) => word !== '')
    .join(' · ');
  if (isRepeated === true)
    return (
      <li class="message repeated">
        <details open={quote !== '' && text.includes(quote)}>
          <summary>
            {who}: {showCount(tokens, 'token')} repeated
          </summary>
          <Words text={text} class="said" quote={quote} />
        </details>
      </li>
    );
  return (
    <li class={`message by-${author}`}>
      <header>
        <b>{who}</b>
        {turn !== undefined && <span class="muted">call {turn + 1}</span>}
        <span class="muted num">{showCount(tokens, 'token')}</span>
        {meanLogprob !== undefined && <span class="muted num">mean logprob {meanLogprob.toFixed(2)}</span>}
        {advantage !== undefined && advantage !== 0 && (
          <span class={`num ${advantage > 0 ? 'good' : 'bad'}`}>advantage {showSigned(advantage)}</span>
        )}
        {isCut === true && <span class="warn">cut at a limit</span>}
      </header>
      {fork !== undefined && (
        <p class="fork">
          forked, {fork.cause}: {fork.reason}
        </p>
      )}
      <Words text={text.trimEnd() || '(empty)'} class="said" quote={quote} />
    </li>
  );
}

function Facts({ episode: { facts, calls } }: { readonly episode: EpisodeView }) {
  return (
    <>
      <Panel title="Facts">
        <FactList facts={facts} />
      </Panel>
      <Panel title="Calls">
        <Calls calls={calls} />
      </Panel>
    </>
  );
}

function Calls({ calls }: Pick<EpisodeView, 'calls'>) {
  const [first] = calls;
  if (first === undefined || first.values.length === 0) return <p class="empty">No model call was recorded.</p>;
  return (
    <WideTable label="Calls" columns={calls.map(({ title }) => title)}>
      {first.values.map((_value, at) => (
        <tr key={at}>
          {calls.map(({ title, values }) => (
            <td key={title}>
              <Words text={values[at] ?? ''} />
            </td>
          ))}
        </tr>
      ))}
    </WideTable>
  );
}
