// Who works at Acme Retail, a company that does not exist: as its Looker knows them, and as a model that reads knows them.
import type { KnownName } from '../../simulators/models/types.ts';

export interface Person {
  readonly first: string;
  readonly last: string;
  readonly email: string;
  readonly role: string;
  readonly team: string;
  /** How dashboards call the owner; people type their names as they like. */
  readonly written: string;
  /** What models know to mean the same person. What is missing here, a person has to decide. */
  readonly also: readonly string[];
  readonly hasLeft?: true;
}

const person = (
  name: string,
  team: string,
  role: string,
  also: readonly string[],
  more: Partial<Person> = {},
): Person => {
  const [first = '', ...rest] = name.split(' ');
  const last = rest.join(' ');
  const plain = name.normalize('NFD').replaceAll(/[^A-Za-z ]/g, '');
  const email = `${plain.toLowerCase().replaceAll(' ', '.')}@acme-retail.example`;
  return { first, last, email, role, team, written: name, also, ...more };
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

const thing = (name: string, type: KnownName['type'], also: readonly string[] = []): KnownName => ({
  name,
  type,
  also,
});

/** Names of others, teams, dashboards and projects, with the spellings that models know. */
const things: readonly KnownName[] = [
  // Who writes so may mean Mara Lindqvist, but nobody has said so.
  thing('Mara Lindquist', 'person'),
  thing('Nils Berg', 'person'),
  thing('Acme Retail', 'org'),
  thing('Brightline', 'org', ['Brightline Agency']),
  thing('Finance', 'org', ['Finance & Controlling']),
  thing('Sales Operations', 'org', ['Sales Ops', 'SalesOps']),
  thing('Data Platform', 'org', ['Data Platform team']),
  thing('Store Analytics', 'org'),
  thing('Supply Chain', 'org'),
  thing('Internal Audit', 'org'),
  thing('Project Tideline', 'project', ['Tideline']),
  thing('Revenue Overview', 'object'),
  thing('Copy of Revenue Overview', 'object'),
  thing('Revenue KPIs', 'object'),
  thing('Board Pack', 'object', ['board pack']),
  thing('Active Customers', 'object'),
  thing('Customer Base', 'object'),
  thing('Store Revenue DACH', 'object'),
  thing('Stock Cover', 'object'),
];

/** What simulated models that read have heard of. Whether "S. Okafor" is Sam or Sara they do not know. */
export const knownNames: readonly KnownName[] = [
  ...personKeys.map((key): KnownName => {
    const { role, email, also } = people[key];
    return { name: fullName(people[key]), also, type: 'person', role, organization: 'Acme Retail', email };
  }),
  ...things,
];
