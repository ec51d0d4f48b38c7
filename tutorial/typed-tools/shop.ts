import { z } from 'zod';

/** The tools of the agent, without a framework: what they take, and what they answer. */

export const items = ['lamp', 'chair', 'desk', 'shelf', 'clock', 'mirror', 'rug', 'stool'] as const;
export const cities = ['Lisbon', 'Oslo', 'Vienna', 'Dublin', 'Athens', 'Prague', 'Turin', 'Bergen'] as const;
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'] as const;
export const warehouses = ['north', 'south'] as const;

/**
 * Whole numbers have limits. Without them zod writes those of JavaScript into the schema, and a small model
 * copies them: it asked for floor -9007199254740991.
 */
export const schemas = {
  count_stock: z.object({ item: z.enum(items), warehouse: z.enum(warehouses) }),
  quote_price: z.object({ item: z.enum(items), quantity: z.int().min(1).max(100), express: z.boolean() }),
  plan_delivery: z.object({ city: z.enum(cities), weekday: z.enum(weekdays), floor: z.int().min(0).max(50) }),
} as const;

export const descriptions: Readonly<Record<ToolName, string>> = {
  count_stock: 'Counts the pieces of an item in a warehouse.',
  quote_price: 'Returns the price of a number of pieces in euros. Express delivery costs extra.',
  plan_delivery: 'Returns the hour of a delivery to a floor of a house.',
};

export type ToolName = keyof typeof schemas;
export type ToolCall = {
  readonly [Name in ToolName]: { readonly name: Name; readonly input: z.infer<(typeof schemas)[Name]> };
}[ToolName];

/** The answers are made up, and the same each time. */
export function answerCall(call: ToolCall): string {
  if (call.name === 'count_stock') {
    const { item, warehouse } = call.input;
    return String(12 + 7 * items.indexOf(item) + (warehouse === 'north' ? 3 : 0));
  }
  if (call.name === 'quote_price') {
    const { item, quantity, express } = call.input;
    return String(quantity * (9 + 4 * items.indexOf(item)) + (express ? 15 : 0));
  }
  const { city, weekday, floor } = call.input;
  return `${8 + ((cities.indexOf(city) + 2 * weekdays.indexOf(weekday) + floor) % 10)}:30`;
}
