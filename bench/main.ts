// npm run bench -- SUITE… [--json] [--quick]: prints measured figures. Nothing here passes or fails.
import { openServices } from '../scripts/services/services.ts';
import type { Figure } from './figure.ts';
import { jsonFigures, printFigures } from './figure.ts';

interface BenchEnvironment {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Fewer rounds, for suites that take minutes. */
  readonly isQuick: boolean;
}

const suites: Readonly<
  Record<string, () => Promise<(environment: BenchEnvironment) => Promise<readonly Figure[]>>>
> = {
  kernel: async () => (await import('./kernel.ts')).kernelFigures,
  extraction: async () => (await import('./extraction.ts')).extractionFigures,
  gateway: async () => (await import('./gateway.ts')).gatewayFigures,
  admission: async () => (await import('./admission.ts')).admissionFigures,
  knowledge: async () => (await import('./knowledge.ts')).knowledgeFigures,
};

const isJson = process.argv.includes('--json');
const chosen = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const unknown = chosen.filter((name) => !(name in suites));
if (chosen.length === 0 || unknown.length > 0 || process.argv.includes('--help')) {
  console.error(`npm run bench -- ${Object.keys(suites).join('|')} [--json] [--quick]`);
  if (unknown.length > 0) console.error(`There is no suite "${unknown.join('", "')}".`);
  process.exit(2);
}

const services = await openServices(process.env, 'owned');
try {
  const environment = {
    databaseUrl: services.variables['DATABASE_URL'] ?? '',
    redisUrl: services.variables['REDIS_URL'] ?? '',
    isQuick: process.argv.includes('--quick'),
  };
  for (const name of chosen) {
    const run = await suites[name]?.();
    const figures = (await run?.(environment)) ?? [];
    if (isJson) console.log(jsonFigures(name, figures));
    else printFigures(name, figures);
  }
} finally {
  await services.close();
}
process.exit(0);
