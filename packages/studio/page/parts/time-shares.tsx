import { showSeconds } from '../../src/page-logic/format.js';

/** Shows the parts of a time as one bar, with their seconds and shares. */
export function TimeShares({ parts }: { readonly parts: readonly (readonly [words: string, seconds: number])[] }) {
  const shown = parts.filter(([, seconds]) => seconds > 0);
  const total = shown.reduce((sum, [, seconds]) => sum + seconds, 0);
  const shareOf = (seconds: number): string => `${Math.round((seconds / total) * 100)}%`;
  return (
    <>
      <div
        class="time-bar"
        role="img"
        aria-label={shown.map(([words, seconds]) => `${words} ${showSeconds(seconds)}`).join(', ')}
      >
        {shown.map(([words, seconds], at) => (
          <i key={words} class={`part-${(at % 8) + 1}`} style={{ flexGrow: seconds / total }} />
        ))}
      </div>
      <ul class="time-legend">
        {shown.map(([words, seconds], at) => (
          <li key={words}>
            <i class={`part-${(at % 8) + 1}`} aria-hidden="true" /> {words}{' '}
            <span class="num">
              {showSeconds(seconds)} <span class="muted">{shareOf(seconds)}</span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
