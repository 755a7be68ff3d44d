// Who may import whom in src/: the table of ARCHITECTURE.md as rules for dependency-cruiser.
import type { IFlattenedRuleSet } from 'dependency-cruiser';

type Rule = NonNullable<IFlattenedRuleSet['forbidden']>[number];

const domain = '(?:ledger|extraction|gateway|knowledge|admission|deployments)';
/** Folders named after a technology hold adapters; only they may reach down to platform. */
const technology = '(?:postgres|redis|sqlite|undici|age|local)';
/** Tests and contract suites live beside the code and keep its rules, but may also use what tests are made of. */
const testFiles = ['^src/.*\\.(test|contract)\\.ts$', '^src/.*/contract/'];

const inside = (folder: string): string => `^src/${folder}/`;
const core = inside('core');
const resilience = inside('resilience');
const platform = inside('platform');

interface Boundary {
  readonly name: string;
  readonly from: string;
  readonly except?: string;
  /** Patterns of files in src/ that may be imported; `$1` is the first group of `from`. */
  readonly mayImport: readonly string[];
  readonly comment: string;
}

const boundaries: readonly Boundary[] = [
  { name: 'core', from: core, mayImport: [core], comment: 'Core imports nothing of ours.' },
  {
    name: 'resilience',
    from: resilience,
    except: `^src/resilience(?:/|/.*/)${technology}/`,
    mayImport: [core, resilience],
    comment: 'The resilience kernel imports core; only its technology folders reach platform.',
  },
  {
    name: 'resilience-adapters',
    from: `^src/resilience(?:/|/.*/)${technology}/`,
    mayImport: [core, resilience, platform],
    comment: "Resilience's technology folders import core, resilience and platform.",
  },
  { name: 'platform', from: platform, mayImport: [core, platform], comment: 'Platform imports core.' },
  {
    name: 'domain',
    from: `^src/(${domain})/`,
    except: `^src/${domain}(?:/|/.*/)${technology}/`,
    mayImport: [core, resilience, '^src/$1/', '^src/ledger/index\\.ts$'],
    comment:
      'A domain imports core, resilience, its own files, and records to the ledger through its index.ts.',
  },
  {
    name: 'domain-adapters',
    from: `^src/(${domain})(?:/|/.*/)${technology}/`,
    mayImport: [core, resilience, platform, '^src/$1/', '^src/ledger/index\\.ts$'],
    comment: "A domain's technology folders may also import platform.",
  },
  {
    name: 'simulators',
    from: inside('simulators'),
    mayImport: [core, resilience, inside('simulators')],
    comment: 'Simulators import core and resilience.',
  },
  {
    name: 'config',
    from: inside('config'),
    mayImport: [core, inside('config'), '^src/.*/options\\.ts$'],
    comment: "Config imports core and everybody's options.ts.",
  },
  {
    name: 'http',
    from: '^src/(http|mcp)/',
    mayImport: [core, '^src/$1/', `^src/${domain}/index\\.ts$`],
    comment: "http and mcp import core and the domains' index.ts.",
  },
  { name: 'app', from: inside('app'), mayImport: ['^src/(?!cli/)'], comment: 'App imports all but cli.' },
  {
    name: 'cli',
    from: inside('cli'),
    mayImport: [core, inside('cli'), inside('app'), inside('config'), inside(domain)],
    comment: 'Cli imports app, config, core, and types of domains.',
  },
  {
    name: 'library',
    from: '^src/[^/]+\\.ts$',
    mayImport: ['^src/[^/]+/index\\.ts$'],
    comment: "The package's own index.ts only passes on what folders export.",
  },
];

const boundaryRules = boundaries.map(({ name, from, except, mayImport, comment }): Rule => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, ...(except === undefined ? {} : { pathNot: except }) },
  to: { path: '^src/', pathNot: [...mayImport] },
}));

/** Every rule; each violation fails `npm run check`. */
export const forbidden: readonly Rule[] = [
  ...boundaryRules,
  {
    name: 'cli-takes-types-of-domains',
    comment: 'Commands talk to domains through a Headworks server, never by calling them.',
    severity: 'error',
    from: { path: inside('cli'), pathNot: testFiles },
    to: { path: inside(domain), dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'no-tests-in-product',
    comment: 'The product imports neither tests nor tools.',
    severity: 'error',
    from: { path: '^src/', pathNot: testFiles },
    to: { path: ['^(test|scripts|bench|examples)/', ...testFiles] },
  },
  {
    name: 'tests-beside-code',
    comment: 'Tests in src/ take from outside of it only test/support/.',
    severity: 'error',
    from: { path: testFiles },
    to: { path: '^(test|scripts|bench|examples)/', pathNot: '^test/support/' },
  },
  {
    name: 'no-development-dependency',
    comment: 'What src/ needs at run time must be a dependency of the package.',
    severity: 'error',
    from: { path: '^src/', pathNot: testFiles },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg'], dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'resolvable',
    comment: 'An import must lead somewhere.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'no-cycle',
    comment: 'Modules that import each other cannot be understood, tested or loaded apart.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
];
