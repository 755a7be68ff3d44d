// Names in pages of the docs that exist only elsewhere, and what the tests use instead.
import { randomBytes } from 'node:crypto';
import { redisCommands } from '../private-servers.ts';
import type { PageRules } from './run-page.ts';

/** A field of the JSON that a command prints. */
const json = (command: string, path: string): string =>
  `$(headworks ${command} --json | node -pe 'JSON.parse(fs.readFileSync(0, "utf8"))${path}')`;

const folder = json('folders list', '.folders[0].id');
const alice = (index: number): string => json('entities list --name alice', `.entities[${index}].id`);

/** The database and Redis of the test run, in a schema and under a prefix of their own. */
const suffix = randomBytes(6).toString('hex');

export const pageRules: Readonly<Record<string, PageRules>> = {
  'README.md': {
    replace: {
      // Done for all pages by installed-package.ts.
      'npm pack ': 'true ',
      'npm install -g ./headworks-*.tgz': 'command -v headworks',
    },
  },
  'docs/guide/admission.md': { before: redisCommands },
  'docs/guide/gateway.md': {
    // The page must show its fallback on every machine, so here the model that it calls the better one is much slower.
    before: () =>
      "sed -i 's/latency_ms: 20$/latency_ms: 1500/; s/latency_ms: 600$/latency_ms: 1/' examples/models/scenario.yaml",
  },
  'docs/guide/operations.md': {
    env: {
      POSTGRES: process.env['DATABASE_URL'] ?? '',
      REDIS: process.env['REDIS_URL'] ?? '',
      HEADWORKS_DATABASE_SCHEMA: `docs_${suffix}`,
      HEADWORKS_REDIS_KEY_PREFIX: `docs_${suffix}:`,
    },
    // A store to move.
    before: () => 'mkdir backups && headworks organizations create acme-corp',
    replace: {
      'PGPASSWORD=… headworks migrate-store --to postgres://headworks@db.example.com/headworks':
        'headworks migrate-store --to $POSTGRES',
      'DATABASE_URL=postgres://… REDIS_URL=redis://… HEADWORKS_ADMIN_TOKEN=…':
        'DATABASE_URL=$POSTGRES REDIS_URL=$REDIS HEADWORKS_ADMIN_TOKEN=$(cat .headworks/admin-token)',
      'headworks restore /var/backups/headworks-2026-03-01T12-00-00Z.backup':
        'kill $server; wait $server; headworks restore backups/*.backup',
      '/var/backups/': 'backups/',
    },
  },
  'docs/guide/knowledge.md': {
    // Every five minutes it reads all documents again with the simulated model, which finds no Alice.
    env: { HEADWORKS_KNOWLEDGE_BACKFILL: 'false' },
    before: () => 'mkdir notes && echo "Ann Lee agreed to send the report." > notes/report.txt',
    replace: {
      '/srv/notes': '$PWD/notes',
      'folders scan ID': `folders scan ${folder}`,
      'folders delete ID': `folders delete ${folder}`,
      'WINNER LOSER': `${alice(1)} ${alice(2)}`,
      'undo-merge MERGE': `undo-merge ${json(`entities get ${alice(1)}`, '.merges.find((merge) => !merge.undone_at).id')}`,
      'ENTITY MENTION': `${alice(1)} ${json(`entities get ${alice(1)}`, '.mentions[0].id')}`,
    },
  },
};
