// Allowed imports within src/: the table of ARCHITECTURE.md as rules for dependency-cruiser.
import type { IFlattenedRuleSet } from 'dependency-cruiser';

type Rule = NonNullable<IFlattenedRuleSet['forbidden']>[number];

const domain = '(?:ledger|extraction|gateway|knowledge|tenancy)';
/** Tests beside the code follow its rules, and may also import test support. */
const testFiles = ['^src/.*\\.(test|contract)\\.ts$', '^src/.*/contract/'];

const inside = (folder: string): string => `^src/${folder}/`;
const core = inside('core');
const resilience = inside('resilience');
const platform = inside('platform');
const api = inside('api');
const ledgerIndex = '^src/ledger/index\\.ts$';

interface Boundary {
  readonly name: string;
  readonly from: string;
  readonly except?: string;
  /** Patterns of files in src/ that may be imported; `$1` is the first group of `from`. */
  readonly mayImport: readonly string[];
  readonly comment: string;
}

const boundaries: readonly Boundary[] = [
  { name: 'core', from: core, mayImport: [core], comment: 'core imports nothing else from src.' },
  {
    name: 'resilience',
    from: resilience,
    mayImport: [core, resilience, platform],
    comment: 'resilience imports core and platform.',
  },
  { name: 'platform', from: platform, mayImport: [core, platform], comment: 'platform imports core.' },
  {
    name: 'domain',
    from: `^src/(${domain})/`,
    mayImport: [core, resilience, platform, '^src/$1/', ledgerIndex],
    comment:
      'A domain imports core, resilience, platform, its own files, and the index.ts of ledger. Domains do not import each other.',
  },
  {
    name: 'admission',
    from: inside('tenancy/admission'),
    mayImport: [
      core,
      resilience,
      platform,
      inside('tenancy/admission'),
      '^src/tenancy/(errors|events|options)\\.ts$',
      ledgerIndex,
    ],
    comment: 'tenancy/admission imports nothing from its siblings, so that it can be used without them.',
  },
  {
    name: 'simulators',
    from: inside('simulators'),
    mayImport: [core, resilience, inside('simulators')],
    comment: 'simulators import core and resilience.',
  },
  {
    name: 'config',
    from: inside('config'),
    mayImport: [core, inside('config'), '^src/.*/options\\.ts$'],
    comment: 'config imports core and the options.ts of every folder.',
  },
  {
    name: 'api',
    from: api,
    mayImport: [core, api, `^src/${domain}/vocabulary\\.ts$`],
    comment: 'api imports core and the vocabulary.ts of domains: clients load it without any domain.',
  },
  {
    name: 'client',
    from: '^src/library/client\\.ts$',
    mayImport: [api, '^src/core/(errors|text)\\.ts$'],
    comment:
      'The client imports api, and errors and text of core: it runs outside of the server, and in browsers.',
  },
  {
    name: 'http',
    from: '^src/(http|mcp)/',
    mayImport: [core, api, '^src/$1/', `^src/${domain}/index\\.ts$`, '^src/operations/index\\.ts$'],
    comment: 'http and mcp import core, api, and the index.ts of domains and operations.',
  },
  {
    name: 'operations',
    from: inside('operations'),
    mayImport: ['^src/(?!cli/|http/|mcp/|app/)'],
    comment: 'operations imports everything but cli, http, mcp and app.',
  },
  {
    name: 'app',
    from: inside('app'),
    mayImport: ['^src/(?!cli/)'],
    comment: 'app imports everything but cli.',
  },
  {
    name: 'cli',
    from: inside('cli'),
    mayImport: [
      core,
      api,
      inside('cli'),
      inside('app'),
      inside('operations'),
      inside('config'),
      inside(domain),
    ],
    comment: 'cli imports app, api, operations, config, core, and types of domains.',
  },
  {
    name: 'library',
    from: inside('library'),
    mayImport: ['^src/(?!cli/|http/|mcp/|operations/)'],
    comment:
      'library imports everything but cli, http, mcp and operations: it is what programs outside import.',
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
    comment: 'Commands reach domains through a Headworks server, never by calling them.',
    severity: 'error',
    from: { path: inside('cli'), pathNot: testFiles },
    // Error codes are data: exit codes derive from their categories. Vaults are files that commands read themselves.
    to: {
      path: inside(domain),
      pathNot: ['/errors\\.ts$', '^src/extraction/vault/index\\.ts$'],
      dependencyTypesNot: ['type-only'],
    },
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
    // The examples, and what runs them, import the installed package by its name.
    from: { pathNot: ['^examples/library/', '^test/support/run-examples\\.ts$'] },
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
