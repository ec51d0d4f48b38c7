import { useState } from 'preact/hooks';
import { showCount, showNumber, showRate, showSigned } from '../../src/page-logic/format.js';
import type { GroupBranch, GroupEpisode, GroupView } from '../../src/wire.js';
import { Link, Panel, Result, Shown, Words } from '../parts/basics.js';
import { OutcomeList } from '../parts/outcome-list.js';
import { useKeys } from '../parts/keyboard.js';
import { number, WideTable } from '../parts/table.js';
import { answerOf, go, route } from '../state/store.js';

/** The episodes of a group side by side, and the tree of all their tokens with advantages. */
export function Group() {
  const { run, item, query } = route.value;
  const path = `runs/${run}/group?id=${encodeURIComponent(item)}&step=${query['step'] ?? '0'}`;
  return (
    <div class="page">
      <Shown of={answerOf<GroupView>(path)}>{(group) => <Body group={group} run={run} />}</Shown>
    </div>
  );
}

function Body({ group, run }: { readonly group: GroupView; readonly run: string }) {
  const [chosen, setChosen] = useState(-1);
  const { episodes } = group;
  const open = (): void => {
    const episode = episodes[chosen];
    if (episode !== undefined) go({ view: 'episode', run, item: episode.id });
  };
  useKeys(() => ({
    j: () => setChosen(Math.min(episodes.length - 1, chosen + 1)),
    k: () => setChosen(Math.max(0, chosen - 1)),
    Enter: open,
    u: () => go({ view: 'step', run, item: String(group.step) }),
  }));
  return (
    <>
      <div class="bar">
        <h1>
          Group <span class="mono id">{group.task}</span>
        </h1>
      </div>
      <p class="muted where">
        <Link to={{ view: 'step', run, item: String(group.step) }}>step {group.step}</Link> ·{' '}
        {group.phase === 'evaluation' ? 'evaluation' : 'training'} · {showCount(episodes.length, 'episode')} ·{' '}
        <Link to={{ view: 'episodes', run, query: { task: group.task } }}>all episodes of this task</Link>
      </p>
      <OutcomeList
        rows={[
          ['Question', group.question],
          ['Expected', group.expected],
        ]}
      />
      <Members {...{ episodes, run, chosen }} />
      <Tree group={group} run={run} chosen={chosen} setChosen={setChosen} />
    </>
  );
}

type MembersProps = { readonly episodes: readonly GroupEpisode[]; readonly run: string; readonly chosen: number };

function Members({ episodes, run, chosen }: MembersProps) {
  const parts = [...new Set(episodes.flatMap((episode) => Object.keys(episode.parts)))];
  return (
    <Panel title="Episodes">
      <WideTable
        label="Episodes of the group"
        columns={[
          number('#'),
          'Answered',
          'Result',
          number('Reward'),
          ...parts.map(number),
          number('Advantage'),
          number('Tokens'),
          'Reason',
        ]}
      >
        {episodes.map((episode, at) => (
          <tr key={episode.id} class={at === chosen ? 'chosen' : ''}>
            <th scope="row" class="num">
              <Link to={{ view: 'episode', run, item: episode.id }}>{at + 1}</Link>
            </th>
            <td class="long">
              <Words text={episode.outcome.answered ?? episode.outcome.error ?? '–'} class="clip" />
            </td>
            <td>
              <Result isSuccess={episode.isSuccess} error={episode.status === 'failed' ? 'failed' : ''} />
            </td>
            <td class="num">{showNumber(episode.reward)}</td>
            {parts.map((part) => (
              <td key={part} class="num">
                {showNumber(episode.parts[part])}
              </td>
            ))}
            <td class="num">
              <Advantage value={episode.advantage} />
            </td>
            <td class="num">{showNumber(episode.tokens)}</td>
            <td class="long">
              <Words text={episode.outcome.reason ?? '–'} class="clip" />
            </td>
          </tr>
        ))}
      </WideTable>
    </Panel>
  );
}

function Advantage({ value }: { readonly value: number | null }) {
  if (value === null) return <span class="muted">–</span>;
  if (Math.abs(value) < 0.005) return <span class="muted">0.00</span>;
  return <span class={value > 0 ? 'good' : 'bad'}>{showSigned(value)}</span>;
}

type TreeProps = {
  readonly group: GroupView;
  readonly run: string;
  readonly chosen: number;
  readonly setChosen: (at: number) => void;
};

function Tree({ group: { branches, episodes, rowTokens, treeTokens }, run, chosen, setChosen }: TreeProps) {
  const saved = rowTokens === 0 ? 0 : Math.round((1 - treeTokens / rowTokens) * 100);
  return (
    <Panel
      title="Where the answers part"
      note={`${showNumber(treeTokens)} different tokens; ${saved}% of all are shared`}
    >
      {branches.length === 0 ? (
        <p class="empty">The episodes have no recorded tokens.</p>
      ) : (
        <ol class="tree">
          {branches.map((branch, at) => (
            <Branch
              key={at}
              {...{ branch, episodes, run, chosen, setChosen }}
              isShared={branch.episodes.length === episodes.length}
            />
          ))}
        </ol>
      )}
    </Panel>
  );
}

/** The first lines, so that many branches fit on a screen. */
const maxLines = 5;

function BranchText({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  const lines = text.split('\n');
  if (lines.length <= maxLines) return <Words text={text} class="said" />;
  return (
    <>
      <Words text={isOpen ? text : lines.slice(0, maxLines).join('\n')} class="said" />
      <button type="button" class="more" onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'less' : `${lines.length - maxLines} more lines`}
      </button>
    </>
  );
}

/** Only the end of a shared beginning is shown, because the answers part there. */
const maxShared = 240;

type BranchProps = {
  readonly branch: GroupBranch;
  readonly episodes: readonly GroupEpisode[];
  readonly run: string;
  readonly chosen: number;
  readonly setChosen: (at: number) => void;
  readonly isShared: boolean;
};

function Branch({ branch, episodes, run, chosen, setChosen, isShared }: BranchProps) {
  const { depth, episodes: through, text, author, advantage, start, end } = branch;
  const tone = advantage === null || Math.abs(advantage) < 0.005 ? '' : advantage > 0 ? 'up' : 'down';
  return (
    <li
      class={`${tone} ${through.includes(chosen) ? 'chosen' : ''} by-${author}`}
      style={{ marginLeft: `${Math.min(depth, 16) * 18}px` }}
    >
      <header>
        <span class="dots">
          {through.map((at) => {
            const episode = episodes[at];
            if (episode === undefined) return null;
            const name = episode.reward === null ? 'none' : episode.isSuccess ? 'good' : 'bad';
            return (
              <span key={at} onMouseEnter={() => setChosen(at)}>
                <Link
                  to={{ view: 'episode', run, item: episode.id }}
                  class={`dot ${name}`}
                  label={`Episode ${at + 1}, reward ${showRate(episode.reward)}`}
                >
                  <i title={`episode ${at + 1}, reward ${showRate(episode.reward)}`} />
                </Link>
              </span>
            );
          })}
        </span>
        <span class="muted num">
          {isShared ? 'shared by all' : showCount(through.length, 'episode')} · tokens {start}–{end - 1}
        </span>
        {advantage !== null && (
          <span class="num">
            advantage <Advantage value={advantage} />
          </span>
        )}
      </header>
      {isShared ? (
        <Words text={text.split('\n').slice(-maxLines).join('\n').slice(-maxShared)} class="said" />
      ) : (
        <BranchText text={text} />
      )}
    </li>
  );
}
