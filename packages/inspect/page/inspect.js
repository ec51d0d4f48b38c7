// Handles clicks in the page of an episode. The page holds the text. #data holds ids and numbers:
// { turns: [{ facts, logprobs, advantages, promptTokens, sample }], branches: [{ start, ids }], samples: number }
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const panel = document.getElementById('panel');
  let chosen = [];

  const show = (title, facts) => {
    const list = facts.map(([label, value]) => {
      const [term, description] = [document.createElement('dt'), document.createElement('dd')];
      term.textContent = label;
      description.textContent = String(value);
      return [term, description];
    });
    const heading = document.createElement('h2');
    heading.textContent = title;
    const body = document.createElement('dl');
    body.append(...list.flat());
    panel.replaceChildren(heading, body);
  };

  const choose = (...elements) => {
    for (const element of chosen) element?.classList.remove('chosen');
    chosen = elements;
    for (const element of elements) element?.classList.add('chosen');
  };

  const turnsOf = (span) =>
    (span.dataset.turns ?? '')
      .split(' ')
      .filter((index) => index !== '')
      .map(Number);

  const describeSampling = (index, place, isOnly) => {
    const { facts, logprobs, advantages, promptTokens } = data.turns[index];
    const logprob = logprobs[place - promptTokens];
    const advantage = Array.isArray(advantages) ? advantages[place - promptTokens] : advantages;
    return [
      ['call', `#${index}`],
      ['logprob', logprob],
      ['probability', Math.exp(logprob).toPrecision(4)],
      ['advantage', advantage],
      ...facts.filter(([label]) => label === 'agent' || label === 'policy version' || (isOnly && label === 'forked')),
    ];
  };

  /** Shows the text as a string literal, so blanks are visible. */
  const textOf = ({ textContent: text }, { dataset: { author } }) => {
    if (text === '▫') return 'part of the character that the next token completes';
    return JSON.stringify(author === 'template' ? text.replaceAll('⏎', '\n') : text);
  };

  const showToken = (token) => {
    const span = token.closest('.span');
    const { start, ids } = data.branches[Number(span.dataset.branch)];
    const place = Number(span.dataset.start) + [...token.parentElement.children].indexOf(token);
    const turns = turnsOf(span);
    const author = turns.length > 0 ? 'the model: sampled and trained' : span.dataset.author;
    choose(token);
    show(`Token ${place}`, [
      ['text', textOf(token, span)],
      ['id', ids[place - start]],
      ['written by', author],
      ['mask', turns.length > 0 ? 1 : 0],
      ...turns.flatMap((index) => describeSampling(index, place, turns.length === 1)),
    ]);
  };

  const showTurn = (index) => {
    const { facts } = data.turns[index];
    choose(document.querySelector(`tr[data-turn="${index}"]`));
    show(`Call #${index}`, facts);
  };

  const reveal = (element) => {
    for (let parent = element?.parentElement; parent; parent = parent.parentElement)
      if (parent.tagName === 'DETAILS') parent.open = true;
    element?.scrollIntoView({ block: 'center' });
  };

  document.addEventListener('click', ({ target }) => {
    const row = target.closest('tr[data-turn]');
    const token = target.closest('i');
    const label = target.closest('.generated > b');
    const button = target.closest('button[data-open]');
    if (token) showToken(token);
    else if (row) {
      showTurn(Number(row.dataset.turn));
      reveal(document.querySelector(`[data-turns~="${row.dataset.turn}"]`));
    } else if (label) showTurn(turnsOf(label.closest('.span'))[0]);
    else if (button)
      for (const details of document.querySelectorAll('details.side, details.branch'))
        details.open = button.dataset.open === 'true';
  });

  // Arrow keys move from token to token.
  document.addEventListener('keydown', (event) => {
    const [token] = chosen;
    if (token?.tagName !== 'I' || (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft')) return;
    const tokens = [...document.querySelectorAll('i')];
    const next = tokens[tokens.indexOf(token) + (event.key === 'ArrowRight' ? 1 : -1)];
    if (!next) return;
    event.preventDefault();
    reveal(next);
    showToken(next);
  });
})();
