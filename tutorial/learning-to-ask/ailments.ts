/**
 * The questions that a patient can answer. The patient recognizes a question by its words, so a model may phrase it
 * freely.
 */
type Topic = {
  readonly question: string;
  readonly isAsked: RegExp;
  readonly tell: (value: string) => string;
  readonly values: readonly string[];
};

export const topics = {
  since: {
    question: 'When did it begin?',
    isAsked: /begin|began|since|start|how long/i,
    tell: (day) => `It began on ${day}.`,
    values: ['Monday', 'Tuesday', 'Friday', 'Sunday'],
  },
  fever: {
    question: 'Do you have a fever?',
    isAsked: /fever|temperature/i,
    tell: (degrees) => `I have a fever of ${degrees}.`,
    values: ['38', '39', '40', '41'],
  },
  sleep: {
    question: 'How do you sleep?',
    isAsked: /sleep|nights?\b/i,
    tell: (hours) => `I sleep ${hours} hours.`,
    values: ['3', '4', '5', '6'],
  },
  food: {
    question: 'What did you eat?',
    isAsked: /\b(eat|ate|food|meal)/i,
    tell: (dish) => `I ate ${dish}.`,
    values: ['fish', 'nuts', 'eggs', 'cheese'],
  },
  travel: {
    question: 'Where have you been?',
    isAsked: /travel|abroad|where have you been|journey/i,
    tell: (country) => `I was in ${country}.`,
    values: ['Spain', 'Peru', 'Kenya', 'Nepal'],
  },
  fall: {
    question: 'Did you fall?',
    isAsked: /\bf[ae]ll|accident|injur/i,
    tell: (from) => `I fell off a ${from}.`,
    values: ['horse', 'ladder', 'bike', 'wall'],
  },
  medicine: {
    question: 'Do you take medicine?',
    isAsked: /medicine|medication|drugs?\b|pills?\b/i,
    tell: (drug) => `I take ${drug}.`,
    values: ['aspirin', 'iron', 'zinc', 'codeine'],
  },
  work: {
    question: 'What is your work?',
    isAsked: /\bwork|\bjob|profession/i,
    tell: (trade) => `I work as a ${trade}.`,
    values: ['cook', 'baker', 'miner', 'painter'],
  },
  pets: {
    question: 'Do you have pets?',
    isAsked: /\bpets?\b|animals?\b/i,
    tell: (animal) => `I have a ${animal}.`,
    values: ['cat', 'dog', 'parrot', 'rabbit'],
  },
  sport: {
    question: 'Do you do sport?',
    isAsked: /sport|exercise|train\b/i,
    tell: (sport) => `I do ${sport}.`,
    values: ['boxing', 'tennis', 'rowing', 'judo'],
  },
} as const satisfies Readonly<Record<string, Topic>>;

export type TopicName = keyof typeof topics;
export const topicNames = Object.keys(topics) as readonly TopicName[];

/** Returns the patient's statement about a topic. */
export function tell(topic: TopicName, value: string): string {
  return topics[topic].tell(value);
}

/** An ailment, the ways in which people state it, and the four facts that a doctor has to find. */
type Ailment = { readonly complaints: readonly string[]; readonly matters: readonly TopicName[] };

export const ailments = {
  head: {
    complaints: ['My head hurts.', 'I have a headache.', 'My head aches.'],
    matters: ['since', 'sleep', 'fall', 'medicine'],
  },
  belly: {
    complaints: ['My belly hurts.', 'I have a bellyache.', 'My belly aches.'],
    matters: ['since', 'food', 'travel', 'fever'],
  },
  cough: {
    complaints: ['I cough a lot.', 'I have a cough.', 'My cough is bad.'],
    matters: ['fever', 'work', 'pets', 'since'],
  },
  skin: {
    complaints: ['My skin itches.', 'I have a rash.', 'My skin is red.'],
    matters: ['food', 'pets', 'medicine', 'travel'],
  },
  knee: {
    complaints: ['My knee hurts.', 'I have a bad knee.', 'My knee aches.'],
    matters: ['fall', 'sport', 'work', 'since'],
  },
  dizzy: {
    complaints: ['I feel dizzy.', 'I am dizzy.', 'My world spins.'],
    matters: ['sleep', 'medicine', 'food', 'fall'],
  },
  tired: {
    complaints: ['I feel tired.', 'I am always tired.', 'I have no strength.'],
    matters: ['sleep', 'work', 'sport', 'fever'],
  },
  eyes: {
    complaints: ['My eyes hurt.', 'I have red eyes.', 'My eyes itch.'],
    matters: ['pets', 'work', 'sleep', 'medicine'],
  },
} as const satisfies Readonly<Record<string, Ailment>>;

export type AilmentName = keyof typeof ailments;
export const ailmentNames = Object.keys(ailments) as readonly AilmentName[];

/** Returns the topic of the first question of a turn, or undefined if it is about none of the topics. */
export function findTopic(text: string): TopicName | undefined {
  const [first = ''] = text.split('?');
  return topicNames.find((name) => topics[name].isAsked.test(first));
}

export function countQuestions(text: string): number {
  return text.split('?').length - 1;
}
