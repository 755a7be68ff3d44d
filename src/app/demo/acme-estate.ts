// The BI estate of Acme Retail as its Looker holds it: dashboards that resemble and contradict each other, owners who left.
import type { WrittenItems } from '../../simulators/looker/ports.ts';
import type { PersonKey } from './acme-people.ts';
import { fullName, people, personKeys } from './acme-people.ts';

type Item = Readonly<Record<string, unknown>>;

/** In the order of their ids, which count from 1; each lies below the folder of the number, or is the root. */
const folders = [
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

type FolderName = (typeof folders)[number][0];
/** `model::explore`, of those that the simulator has for four models and twelve explores. */
type Explore =
  `${'ecommerce' | 'finance' | 'marketing' | 'support'}::${'orders' | 'order_items' | 'customers'}`;
type Tile = readonly [title: string, explore: Explore, fields: readonly string[], note?: string];

interface Report {
  readonly title: string;
  readonly owner: PersonKey;
  readonly folder: FolderName;
  readonly says: string;
  readonly views: number;
  readonly tiles: readonly Tile[];
}

const net: Tile = ['Net revenue by month', 'finance::orders', ['created_date', 'total_amount']];
const gross: Tile = ['Gross revenue by month', 'ecommerce::orders', ['created_date', 'total_amount']];

const report = (
  title: string,
  owner: PersonKey,
  folder: FolderName,
  views: number,
  says: string,
  ...tiles: readonly Tile[]
): Report => ({ title, owner, folder, says, views, tiles });

const dashboards: readonly Report[] = [
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
    'priya',
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

const looks: readonly Report[] = [
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

/** The look that Looker fails to hand out at first: its id. */
export const stuckLook = '4';

const explores: readonly string[] = [
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

const idOf = (index: number): string => String(index + 1);
const indexOfFolder = (name: FolderName): number => folders.findIndex(([each]) => each === name);

function folderFacts(index: number): Item {
  const [name = '', parent = null] = folders[index] ?? [];
  return {
    id: idOf(index),
    name,
    parent_id: parent === null ? null : idOf(parent),
    child_count: folders.filter(([, above]) => above === index).length,
    is_shared_root: parent === null,
  };
}

function ownerFacts(owner: PersonKey): Item {
  const { written, hasLeft } = people[owner];
  const id = idOf(personKeys.indexOf(owner));
  return { user_id: id, last_updater_id: id, user_name: written, is_owner_disabled: hasLeft === true };
}

function queryFacts([, explore, fields]: Tile): Item {
  const [model = '', view = ''] = explore.split('::');
  return {
    model,
    view,
    fields: fields.map((field) => `${view}.${field}`),
    filters: { [`${view}.created_date`]: '90 days' },
  };
}

/** One was changed after the other, in October. */
const changedAt = (index: number): string =>
  `2026-10-${String(index + 1).padStart(2, '0')}T09:00:00.000+00:00`;

const reportFacts = ({ title, owner, folder, says, views }: Report, index: number): Item => ({
  title,
  description: says,
  view_count: views,
  folder: folderFacts(indexOfFolder(folder)),
  folder_id: idOf(indexOfFolder(folder)),
  ...ownerFacts(owner),
  created_at: '2025-03-03T09:00:00.000+00:00',
  updated_at: changedAt(index),
  last_accessed_at: changedAt(index),
  last_viewed_at: changedAt(index),
});

const dashboard = (made: Report, index: number): Item => ({
  ...reportFacts(made, index),
  dashboard_elements: made.tiles.map((tile, nth) => ({
    id: `${idOf(index)}0${nth}`,
    title: tile[0],
    type: 'vis',
    note_text: tile[3] ?? null,
    query: queryFacts(tile),
  })),
});

function look(made: Report, index: number): Item {
  const query = queryFacts(made.tiles[0] ?? net);
  return { ...reportFacts(made, index), model: { id: query['model'], label: query['model'] }, query };
}

function user(key: PersonKey): Item {
  const { first, last, email, hasLeft } = people[key];
  return {
    first_name: first,
    last_name: last,
    display_name: fullName(people[key]),
    email,
    credentials_email: { email, is_disabled: hasLeft === true, type: 'email' },
    is_disabled: hasLeft === true,
  };
}

/** Everything that is written; the rest of what a Looker has is generated around it. */
export const acmeItems: WrittenItems = {
  dashboards: dashboards.map(dashboard),
  looks: looks.map(look),
  folders: folders.map((_, index) => folderFacts(index)),
  users: personKeys.map(user),
  groups: ['Finance', 'Sales Ops', 'SalesOps', 'Data Platform', 'Marketing', 'Stores BI'].map((name) => ({
    name,
  })),
  explores: explores.map((description) => ({ description })),
};

export const acmeCounts = {
  lookml_models: 4,
  lookml_dashboards: 3,
  boards: 3,
  roles: 4,
  permission_sets: 3,
  model_sets: 2,
  scheduled_plans: 8,
} as const;
