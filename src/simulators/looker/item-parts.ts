// What items are generated from: index, version and counts of other items; names of a fictitious company; times.
import type { Chance } from '../chance.ts';
import type { SimulatedType } from './types.ts';

export type Json = Record<string, unknown>;

/** How many of each type there were at the start: references point there, whatever was added or deleted since. */
export type World = Readonly<Record<SimulatedType, number>>;

export interface ItemContext {
  readonly index: number;
  /** 0 at first; one more with every change. */
  readonly version: number;
  readonly chance: Chance;
  readonly world: World;
}

/** How items of a type are generated. `text` is the free-text field that shows changes and is filled up to a size. */
export interface ItemGenerator {
  readonly id: (index: number, world: World) => string;
  readonly make: (context: ItemContext) => Json;
  /** Further fields of the item when it is requested alone. */
  readonly more?: (context: ItemContext) => Json;
  readonly text: { readonly field: string; readonly value: (context: ItemContext) => string };
  /** The item also has a list of tiles. */
  readonly hasTiles?: true;
}

export const numberedId = (index: number): string => String(index + 1);

/** A number in the name where there are more items than names. */
export function numberedName(names: readonly string[], index: number): string {
  const name = names[index % names.length] ?? 'item';
  return index < names.length ? name : `${name}_${Math.floor(index / names.length) + 1}`;
}

/** The index of an item to refer to; if the type has none, one of twelve that do not exist. */
export function reference({ chance, world }: ItemContext, type: SimulatedType): number {
  return chance.below(world[type] || 12);
}

const beginning = Date.UTC(2023, 0, 9);
const dayMs = 86_400_000;

/** As Looker writes times: `2024-03-01T09:15:00.000+00:00`. */
const stamp = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00');

export function createdAt({ index, chance }: ItemContext): string {
  return stamp(beginning + (index % 700) * dayMs + chance.below(dayMs));
}

/** Later with every change. */
export function updatedAt({ index, version }: ItemContext): string {
  return stamp(beginning + (700 + (index % 60) + version) * dayMs + ((index * 61_000) % dayMs));
}

/** That time plus this many days. */
export const daysLater = (time: string, days: number): string => stamp(Date.parse(time) + days * dayMs);

/** What the caller may do with an item. */
export const can = (...verbs: readonly string[]): Json =>
  Object.fromEntries(['index', 'show', ...verbs].map((verb) => [verb, true]));

// Names of people, teams and subjects. Some are not ASCII.

type Names = readonly [string, ...string[]];

// oxfmt-ignore
const firstNames: Names = [
  'Dana', 'Miguel', 'Priya', 'Zoë', 'Tom', 'Aiko', 'Lena', 'Kwame', 'Sofia', 'Björn', 'Ines', 'Omar',
  'Grace', 'Łukasz', 'Hana', 'Pedro', 'Maya', 'Jonas', 'Fatima', 'Chloé', 'Ravi', 'Elena', 'Sam', 'Noor',
];
// oxfmt-ignore
const lastNames: Names = [
  'Whitfield', 'Ortega', 'Raman', 'Müller', 'Baker', 'Tanaka', 'Fischer', 'Mensah', 'Rossi', 'Lindqvist',
  'Duarte', 'Haddad', "O'Neill", 'Nowak', 'Kim', 'Carvalho', 'Cohen', 'Weber', 'Khan', 'Lefèvre', 'Patel',
];

// oxfmt-ignore
export const teams: Names = [
  'Finance', 'Sales Ops', 'Growth', 'Customer Success', 'Supply Chain', 'People', 'Data Platform', 'Marketing',
];
export const regions: Names = ['EMEA', 'AMER', 'APAC', 'DACH', 'LATAM', 'Nordics'];
// oxfmt-ignore
export const subjects: Names = [
  'Revenue', 'Churn', 'Pipeline', 'Support Tickets', 'Inventory', 'Web Traffic', 'Campaign Performance',
  'Headcount', 'Gross Margin', 'Onboarding Funnel', 'Order Fulfilment', 'Subscriptions',
];
const reports: Names = ['Overview', 'Weekly Review', 'Deep Dive', 'KPIs', 'Trend', 'Board Pack'];
export const modelNames: Names = ['ecommerce', 'finance', 'marketing', 'support', 'supply_chain', 'people'];
// oxfmt-ignore
export const viewNames: Names = [
  'orders', 'order_items', 'customers', 'products', 'sessions', 'invoices', 'tickets', 'campaigns', 'employees',
];
export const fieldNames: Names = [
  'created_date',
  'region',
  'status',
  'count',
  'total_amount',
  'average_days',
];

export interface Person {
  readonly first: string;
  readonly last: string;
  readonly email: string;
}

/** The person of the user with this index; users with the same name differ in their address. */
export function personAt(index: number): Person {
  const first = firstNames[index % firstNames.length] ?? 'Alex';
  const last = lastNames[Math.floor(index * 5 + index / firstNames.length) % lastNames.length] ?? 'Doe';
  const plain = `${first}.${last}`
    .normalize('NFD')
    .replaceAll('Ł', 'L')
    .replaceAll(/[^A-Za-z.]/g, '')
    .toLowerCase();
  const number = index < firstNames.length ? '' : String(index);
  return { first, last, email: `${plain}${number}@acme.example` };
}

/** One of several spellings of a person. */
export function writtenName({ first, last, email }: Person, chance: Chance): string {
  switch (chance.below(8)) {
    case 0:
      return email.slice(0, email.indexOf('@'));
    case 1:
      return `${last}, ${first}`;
    case 2:
      return `${first.slice(0, 1)}. ${last}`;
    case 3:
      return `${first} ${last} (contractor)`;
    default:
      return `${first} ${last}`;
  }
}

/** A title, similar to many others. */
export function reportTitle(chance: Chance): string {
  const subject = chance.pick(subjects);
  const title = `${subject} ${chance.pick(reports)}`;
  switch (chance.below(9)) {
    case 0:
      return `Copy of ${title}`;
    case 1:
      return `${title} (copy)`;
    case 2:
      return `${title} v2`;
    case 3:
      return `${title} – ${chance.pick(regions)}`;
    case 4:
      return `${chance.pick(teams)}: ${title}`;
    case 5:
      return `${title} OLD do not use`;
    case 6:
      return title.toLowerCase();
    default:
      return title;
  }
}

/** The teams, then the teams of each region, then with numbers. */
export function numberedTeam(index: number): string {
  const team = teams[index % teams.length] ?? '';
  const round = Math.floor(index / teams.length);
  if (round === 0) return team;
  const region = regions[(round - 1) % regions.length] ?? '';
  return round <= regions.length ? `${team} ${region}` : `${team} ${region} ${round}`;
}
