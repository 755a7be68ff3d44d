// Acme Retail, a fictional company: its people in Looker and for the models, and its dashboards, which contradict each other.
import type { KnownName } from '../../simulators/models/scenario.ts';

export interface Person {
  readonly first: string;
  readonly last: string;
  readonly email: string;
  readonly role: string;
  readonly team: string;
  /** The owner's name on dashboards, where people spell names as they like. */
  readonly written: string;
  /** Spellings that the simulated models resolve; any other is left to a person to decide. */
  readonly aliases: readonly string[];
  readonly hasLeft?: true;
}

const person = (
  name: string,
  team: string,
  role: string,
  aliases: readonly string[],
  more: Partial<Person> = {},
): Person => {
  const [first = '', ...rest] = name.split(' ');
  const last = rest.join(' ');
  const plain = name.normalize('NFD').replaceAll(/[^A-Za-z ]/g, '');
  const email = `${plain.toLowerCase().replaceAll(' ', '.')}@acme-retail.example`;
  return { first, last, email, role, team, written: name, aliases, ...more };
};

export const people = {
  mara: person('Mara Lindqvist', 'Finance', 'VP Finance', ['M. Lindqvist', 'Mara', 'Lindqvist, Mara'], {
    written: 'M. Lindqvist',
  }),
  tomas: person('Tomás Herrera', 'Sales Operations', 'Head of Sales Operations', ['Tomas Herrera', 'Tomás'], {
    written: 'Tomas Herrera',
  }),
  priya: person('Priya Raman', 'Data Platform', 'Analytics Engineer', ['Priya', 'Raman, Priya']),
  jonas: person('Jonas Weber', 'Data Platform', 'BI Lead', ['Jonas', 'Jonas W.'], {
    written: 'jonas.weber',
    hasLeft: true,
  }),
  chloe: person('Chloé Lefèvre', 'Finance', 'CFO', ['Chloe Lefevre', 'Chloé']),
  grace: person("Grace O'Neill", 'E-commerce', 'Head of E-commerce', ['Grace ONeill', 'Grace']),
  hana: person('Hana Kim', 'Marketing', 'Customer Insights Lead', ['Hana']),
  kwame: person('Kwame Mensah', 'Marketing', 'Marketing Analyst', ['Kwame'], {
    written: 'Kwame Mensah (contractor)',
  }),
  elena: person('Elena Rossi', 'Internal Audit', 'Internal Auditor', ['Elena']),
  ravi: person('Ravi Patel', 'Data Platform', 'Data Engineer', ['Ravi']),
  dana: person('Dana Whitfield', 'Store Analytics', 'Analyst, DACH', ['Dana'], { written: 'D. Whitfield' }),
  sam: person('Sam Okafor', 'Store Analytics', 'Store Operations Manager', ['Sam']),
  sara: person('Sara Okafor', 'Supply Chain', 'Supply Chain Analyst', ['Sara'], { written: 'S. Okafor' }),
} satisfies Readonly<Record<string, Person>>;

export type PersonKey = keyof typeof people;

export const personKeys = Object.keys(people) as readonly PersonKey[];

export const fullName = ({ first, last }: Person): string => `${first} ${last}`;

const known = (name: string, type: KnownName['type'], aliases: readonly string[] = []): KnownName => ({
  name,
  type,
  aliases,
});

/** Other people, teams, dashboards and projects, with the spellings that the simulated models resolve. */
const otherNames: readonly KnownName[] = [
  // Possibly a misspelling of Mara Lindqvist, but not certain.
  known('Mara Lindquist', 'person'),
  known('Nils Berg', 'person'),
  known('Acme Retail', 'organization'),
  known('Brightline', 'organization', ['Brightline Agency']),
  known('Finance', 'organization', ['Finance & Controlling']),
  known('Sales Operations', 'organization', ['Sales Ops', 'SalesOps']),
  known('Data Platform', 'organization', ['Data Platform team']),
  known('Store Analytics', 'organization'),
  known('Supply Chain', 'organization'),
  known('Internal Audit', 'organization'),
  known('Project Tideline', 'project', ['Tideline']),
  known('Revenue Overview', 'object'),
  known('Copy of Revenue Overview', 'object'),
  known('Revenue KPIs', 'object'),
  known('Board Pack', 'object', ['board pack']),
  known('Active Customers', 'object'),
  known('Customer Base', 'object'),
  known('Store Revenue DACH', 'object'),
  known('Stock Cover', 'object'),
];

/** The names that simulated models resolve. They cannot decide whether "S. Okafor" is Sam or Sara. */
export const knownNames: readonly KnownName[] = [
  ...personKeys.map((key): KnownName => {
    const { role, email, aliases } = people[key];
    return { name: fullName(people[key]), aliases, type: 'person', role, organization: 'Acme Retail', email };
  }),
  ...otherNames,
];

/** In the order of their ids, which start at 1; each with the index of its parent, or null for the root. */
export const folders = [
  ['Shared', null],
  ['Finance', 0],
  ['Sales Ops', 0],
  ['SalesOps (old)', 0],
  ['E-commerce', 0],
  ['Marketing', 0],
  ['Stores', 0],
  ['Supply Chain', 0],
  ['Board', 1],
  ['Sandbox', 0],
] as const;

export type FolderName = (typeof folders)[number][0];
/** `model::explore`, among the four models and twelve explores of the simulator. */
type Explore =
  `${'ecommerce' | 'finance' | 'marketing' | 'support'}::${'orders' | 'order_items' | 'customers'}`;
export type Tile = readonly [title: string, explore: Explore, fields: readonly string[], note?: string];

export interface Report {
  readonly title: string;
  readonly owner: PersonKey;
  readonly folder: FolderName;
  readonly description: string;
  readonly views: number;
  readonly tiles: readonly Tile[];
}

export const net: Tile = ['Net revenue by month', 'finance::orders', ['created_date', 'total_amount']];
const gross: Tile = ['Gross revenue by month', 'ecommerce::orders', ['created_date', 'total_amount']];

const report = (
  title: string,
  owner: PersonKey,
  folder: FolderName,
  views: number,
  description: string,
  ...tiles: readonly Tile[]
): Report => ({ title, owner, folder, description, views, tiles });

export const dashboards: readonly Report[] = [
  report(
    'Revenue Overview',
    'mara',
    'Finance',
    3120,
    'Official revenue of Acme Retail: net revenue, invoiced, without VAT, less returns on the day of the return. Owner: Finance.',
    net,
    ['Returns by region', 'finance::order_items', ['region', 'count']],
    ['Net revenue, franchise stores', 'finance::orders', ['region', 'total_amount']],
  ),
  report(
    'Revenue KPIs',
    'tomas',
    'Sales Ops',
    2875,
    'Revenue for the sales teams: gross revenue at checkout, VAT included, returns not deducted. Owner: Sales Ops.',
    gross,
    [
      'Gross revenue by region',
      'ecommerce::orders',
      ['region', 'total_amount'],
      'Includes test orders before March.',
    ],
  ),
  report(
    'Copy of Revenue Overview',
    'jonas',
    'Sandbox',
    640,
    'Copied from Revenue Overview in 2024 by jonas.weber. Returns are deducted on the day of the order. Do not use for the board.',
    net,
  ),
  report(
    'Revenue Overview v2',
    'jonas',
    'SalesOps (old)',
    212,
    'Draft. Gross revenue with returns as a separate line; asked for by SalesOps.',
    gross,
    ['Returns', 'ecommerce::order_items', ['created_date', 'count']],
  ),
  report(
    'Board Pack',
    'chloe',
    'Board',
    96,
    'What the board sees each month. Revenue comes from Revenue KPIs until the change of definition, then from Revenue Overview.',
    gross,
    ['Gross margin', 'finance::order_items', ['created_date', 'total_amount']],
  ),
  report(
    'Store Revenue DACH',
    'dana',
    'Stores',
    530,
    'Net revenue of own stores in Germany, Austria and Switzerland. Franchise stores are left out, so it is lower than Revenue Overview.',
    [
      'Net revenue by store',
      'finance::orders',
      ['region', 'total_amount'],
      'Franchise stores are filtered out.',
    ],
  ),
  report(
    'Weekly Revenue Review',
    'jonas',
    'Finance',
    410,
    'Net revenue of the last eight weeks next to gross revenue, to show how far Revenue Overview and Revenue KPIs are apart.',
    net,
    gross,
  ),
  report(
    'Active Customers',
    'hana',
    'Marketing',
    980,
    'Customers with an order in the last 30 days. Used for campaign targets.',
    ['Active customers, 30 days', 'marketing::customers', ['region', 'count']],
  ),
  report(
    'Customer Base',
    'grace',
    'E-commerce',
    875,
    'Active customers of the web shop: an order in the last 90 days. Not the same as Active Customers of Marketing.',
    ['Active customers, 90 days', 'ecommerce::customers', ['created_date', 'count']],
  ),
  report(
    'Campaign Performance',
    'kwame',
    'Marketing',
    345,
    'Spend and orders by campaign, attributed to the last click.',
    ['Orders by campaign', 'marketing::orders', ['status', 'count']],
  ),
  report(
    'campaign performance (copy)',
    'kwame',
    'Sandbox',
    12,
    'Same as Campaign Performance, attributed to the first click.',
    ['Orders by campaign', 'marketing::orders', ['status', 'count']],
  ),
  report('Stock Cover', 'sara', 'Supply Chain', 260, 'Days of stock by region. Kept by S. Okafor.', [
    'Days of stock',
    'support::order_items',
    ['region', 'average_days'],
  ]),
  report(
    'Store Operations Daily',
    'sam',
    'Stores',
    720,
    'Opening checks, complaints and net revenue of yesterday by store. Asked for by S. Okafor.',
    ['Complaints', 'support::orders', ['status', 'count']],
    ['Net revenue yesterday', 'finance::orders', ['region', 'total_amount']],
  ),
  report(
    'Returns Monitor',
    'priya',
    'Finance',
    300,
    'Returns by reason. Feeds the deduction in net revenue.',
    ['Returns by reason', 'finance::order_items', ['status', 'count']],
  ),
  report('Order Fulfilment KPIs', 'ravi', 'Supply Chain', 188, 'Time from order to delivery.', [
    'Days to delivery',
    'support::orders',
    ['region', 'average_days'],
  ]),
  report(
    'Audit Trail of Revenue',
    'elena',
    'Finance',
    41,
    'Which definition of revenue each report used, month by month.',
    net,
  ),
];

export const looks: readonly Report[] = [
  report('Net revenue last month', 'mara', 'Finance', 90, 'The figure that Finance reports.', net),
  report('Gross revenue last month', 'tomas', 'Sales Ops', 120, 'The figure that Sales Ops reports.', gross),
  report('Returns by store', 'dana', 'Stores', 33, 'Returns of the last week.', net),
  report('Orders counted twice', 'ravi', 'Sandbox', 7, 'Orders of 2026-10-19 that were loaded twice.', gross),
  report(
    'Active customers by region',
    'hana',
    'Marketing',
    25,
    'Thirty days, as in Active Customers.',
    gross,
  ),
  report('Late deliveries', 'sara', 'Supply Chain', 44, 'Orders older than five days.', gross),
  report('Franchise stores', 'sam', 'Stores', 18, 'Which stores are run by partners.', net),
  report('Board figures', 'chloe', 'Board', 60, 'Three figures for the board.', net),
];

/** Jonas Weber has left; his dashboard gets a new owner, as described in his handover mail. */
export const handover = {
  title: 'Weekly Revenue Review',
  to: 'priya',
  at: '2026-11-16T08:00:00.000+00:00',
} as const satisfies { readonly to: PersonKey } & Readonly<Record<string, string>>;

/** Id of the look that fails at first. */
export const stuckLook = '4';

export const explores: readonly string[] = [
  'Orders of the web shop at checkout: gross, VAT included, returns not deducted.',
  'Invoiced orders: net of VAT, less returns on the day of the return.',
  'Orders with the campaign that led to them.',
  'Orders with complaints and delivery times.',
  'Lines of web shop orders.',
  'Invoiced lines and returned lines.',
  'Lines of orders with campaigns.',
  'Lines of orders with stock by region.',
  'Customers of the web shop; active: an order in the last 90 days.',
  'Customers with invoices.',
  'Customers for campaigns; active: an order in the last 30 days.',
  'Customers who complained.',
];
