import { useEffect, useRef } from 'preact/hooks';
import type { View } from '../src/page-logic/route.js';
import type { RunList, RunOverview } from '../src/wire.js';
import { Link, Problem, StateMark } from './parts/basics.js';
import { Help, isHelpOpen, useKeys } from './parts/keyboard.js';
import { answerOf, followRun, go, isLive, route, shownBefore, source } from './state/store.js';
import { switchTheme, theme } from './state/theme.js';
import { Chat } from './views/chat.js';
import { Compare } from './views/compare.js';
import { Curves } from './views/curves.js';
import { Episode } from './views/episode.js';
import { Episodes } from './views/episodes.js';
import { Group } from './views/group.js';
import { Overview } from './views/overview.js';
import { Runs } from './views/runs.js';
import { Step } from './views/step.js';
import { Swarm } from './views/swarm.js';
import { System } from './views/system.js';
import { Task } from './views/task.js';

export function App() {
  const { view, run, item } = route.value;
  useEffect(() => followRun(run), [run]);
  useNewView(`${view}/${run}/${item}`);
  useKeys(() => ({ '/': focusSearch }));
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <TopBar />
      <ShownByTool />
      <main id="main" tabIndex={-1}>
        {run === '' ? <AllRuns /> : <Run />}
      </main>
      <Help />
    </>
  );
}

/** Scrolls a new view to its top and gives it the keyboard focus. */
function useNewView(place: string): void {
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    scrollTo(0, 0);
    document.getElementById('main')?.focus({ preventScroll: true });
  }, [place]);
}

function focusSearch(): void {
  const field = document.querySelector('input[type="search"]');
  if (field instanceof HTMLInputElement) field.focus();
}

function TopBar() {
  return (
    <header class="topbar">
      <Link to={{ view: 'runs' }} class="brand">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 12.5 8 2.5l6 10-6-3.4z" />
        </svg>
        <span>AgentJet studio</span>
      </Link>
      <Offers />
      <div class="topbar-end">
        {!source.current.isExport && <Live />}
        <button type="button" class="quiet" onClick={() => (isHelpOpen.value = true)} aria-label="Keys">
          ?
        </button>
        <button
          type="button"
          class="quiet"
          onClick={switchTheme}
          aria-label={theme.value === 'dark' ? 'Use light colours' : 'Use dark colours'}
        >
          {theme.value === 'dark' ? '☀' : '☾'}
        </button>
      </div>
    </header>
  );
}

/** Links to the servers that the studio was started with. */
function Offers() {
  const { offers } = answerOf<RunList>('runs').value.value ?? {};
  return (
    <nav class="offers" aria-label="Servers">
      {offers?.swarm === true && <Link to={{ view: 'swarm' }}>Swarm</Link>}
      {(offers?.chats ?? 0) > 0 && <Link to={{ view: 'chat' }}>Chat</Link>}
    </nav>
  );
}

/** Shows a note that a local tool, and not the user, chose the view. */
function ShownByTool() {
  const before = shownBefore.value;
  if (before === undefined) return null;
  const end = (): void => void (shownBefore.value = undefined);
  return (
    <div class="shown-by-tool" role="status">
      A program on this machine opened this view.
      <a href={before} onClick={end}>
        Back
      </a>
      <button type="button" class="quiet" onClick={end} aria-label="Close this note">
        ✕
      </button>
    </div>
  );
}

function Live() {
  const live = isLive.value;
  if (live === undefined) return null;
  return (
    <span class={`live ${live ? 'on' : 'off'}`} role="status">
      <i aria-hidden="true">{live ? '●' : '○'}</i> {live ? 'live' : 'not connected'}
    </span>
  );
}

function AllRuns() {
  const { view } = route.value;
  if (view === 'compare') return <Compare />;
  if (view === 'swarm') return <Swarm />;
  if (view === 'chat') return <Chat />;
  return <Runs />;
}

const tabs: readonly (readonly [View, string])[] = [
  ['overview', 'Overview'],
  ['curves', 'Curves'],
  ['steps', 'Steps'],
  ['episodes', 'Episodes'],
  ['system', 'System'],
];

/** The view that a tab belongs to. */
const tabOf: Partial<Record<View, View>> = { step: 'steps', group: 'steps', episode: 'episodes', task: 'overview' };

function Run() {
  const { view, run } = route.value;
  const { value, error } = answerOf<RunOverview>(`runs/${run}`).value;
  if (value === undefined && error !== undefined) return <Problem text={error} />;
  return (
    <>
      <div class="run-head">
        <div class="crumbs">
          <Link to={{ view: 'runs' }}>Runs</Link>
          <span aria-hidden="true">/</span>
          <Link to={{ view: 'overview', run }}>{value?.run.experiment || '…'}</Link>
          <span aria-hidden="true">/</span>
          <span class="mono">{value?.run.name ?? ''}</span>
          {value !== undefined && <StateMark state={value.run.state} />}
        </div>
        <nav class="tabs" aria-label="Views of the run">
          {tabs.map(([tab, words]) => (
            <a
              key={tab}
              href={`#/run/${run}/${tab}`}
              aria-current={(tabOf[view] ?? view) === tab ? 'page' : undefined}
              onClick={(event) => {
                event.preventDefault();
                go({ view: tab, run });
              }}
            >
              {words}
            </a>
          ))}
        </nav>
      </div>
      <RunView />
    </>
  );
}

function RunView() {
  const { view, run, item } = route.value;
  if (view === 'curves') return <Curves key={run} />;
  if (view === 'steps' || view === 'step') return <Step key={run} />;
  if (view === 'group') return <Group key={`${run}/${item}`} />;
  if (view === 'episodes') return <Episodes key={run} />;
  if (view === 'episode') return <Episode key={`${run}/${item}`} />;
  if (view === 'system') return <System key={run} />;
  if (view === 'task') return <Task key={`${run}/${item}`} />;
  return <Overview key={run} />;
}
