/**
 * The apps of the office, over one state. This file runs inside the sandbox, next to the code that the agent wrote.
 * The agent cannot see the state.
 */
globalThis.openOffice = (state) => {
  let isDone = false;
  const need = (items, field, value, what) => {
    const item = items.find((each) => each[field] === value);
    if (item === undefined) throw new Error(`there is no ${what} ${JSON.stringify(value)}`);
    return item;
  };
  return {
    state,
    isDone: () => isDone,
    globals: {
      contacts: {
        find: (name) => ({ ...need(state.contacts, 'name', name, 'contact') }),
      },
      mail: {
        send: (to, text) => {
          need(state.contacts, 'mail', to, 'address');
          state.sent.push({ to, text: String(text) });
        },
      },
      bank: {
        pay: (account, amount) => {
          need(state.contacts, 'account', account, 'account');
          state.paid.push({ account, amount: Number(amount) });
        },
      },
      calendar: {
        find: (name) => ({ ...need(state.meetings, 'name', name, 'meeting with') }),
        add: (name, day) => {
          need(state.contacts, 'name', name, 'contact');
          state.meetings.push({ id: Math.max(0, ...state.meetings.map(({ id }) => id)) + 1, name, day: String(day) });
        },
        move: (id, day) => {
          need(state.meetings, 'id', id, 'meeting').day = String(day);
        },
        cancel: (id) => {
          const meeting = need(state.meetings, 'id', id, 'meeting');
          state.meetings.splice(state.meetings.indexOf(meeting), 1);
        },
      },
      done: () => {
        isDone = true;
      },
    },
  };
};
