import { showRate } from '../../src/page-logic/format.js';
import type { EpisodeStore } from '../../src/page-logic/episode-store.js';
import { Link } from './basics.js';

/** Episodes as dots, the best first. Full: success. Ring: failure. Cross: no reward. */
export function RewardDots({
  run,
  store,
  rows,
}: {
  readonly run: string;
  readonly store: EpisodeStore;
  readonly rows: readonly number[];
}) {
  return (
    <span class="dots">
      {rows.map((row) => {
        const reward = store.reward[row] ?? null;
        const id = store.id[row] ?? '';
        const words = reward === null ? `failed: ${store.error[row]}` : `reward ${showRate(reward)}`;
        return (
          <Link key={row} to={{ view: 'episode', run, item: id }} class={classOf(store, row)} label={`${id}: ${words}`}>
            <i title={words} />
          </Link>
        );
      })}
    </span>
  );
}

function classOf(store: EpisodeStore, row: number): string {
  if (store.error[row] !== '') return 'dot none';
  return store.success[row] === 1 ? 'dot good' : 'dot bad';
}
