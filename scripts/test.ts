// npm test: checks, private servers, every test. `-- --unit` and `-- path…` run less, and report it.
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../src/core/errors.ts';
import { counted } from '../src/core/text.ts';
import { partEnvironment, partLine, runPart } from './run-part.ts';
import { ended, exitCodeOf, onStopSignals } from './services/run-with-services.ts';
import { openServices, type Services } from './services/services.ts';
import { lastLine, totalsOf, type Totals, type VitestReport } from './test-totals.ts';

interface Part {
  readonly name: string;
  readonly isGood: boolean;
  readonly seconds: number;
}

const args = process.argv.slice(2);
const isUnitOnly = args.includes('--unit');
const forVitest = args.filter((arg) => arg !== '--unit');
/** The whole suite; a selection of tests runs without checks. */
const isWhole = !isUnitOnly && forVitest.length === 0;

/** vitest cannot stop a test in a synchronous endless loop, so the run has a limit; 20 were too few on a very busy machine. */
const limitMinutes = 60;

const children = new Set<ChildProcess>();
let stoppedBy: NodeJS.Signals | undefined;
const interrupted = onStopSignals((signal) => {
  stoppedBy ??= signal;
  for (const child of children) child.kill(signal);
});
const noServices: Services = { variables: {}, summary: '', close: async () => undefined };

async function runTests(services: Services, report: string, temporary: string): Promise<Totals> {
  const vitest = spawn(
    'vitest',
    [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...(isWhole ? ['--allowOnly=false'] : []),
      ...(isUnitOnly ? ['--project', 'unit'] : ['--project', '!slow']),
      ...forVitest,
    ],
    {
      env: { ...partEnvironment(), ...services.variables, TMPDIR: temporary },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  children.add(vitest);
  const code = await Promise.race([
    ended(vitest),
    interrupted.then(() => sleep(10_000, 1, { ref: false })),
    sleep(limitMinutes * 60_000, undefined, { ref: false }),
  ]);
  if (code === undefined) {
    vitest.kill('SIGKILL');
    throw new Error(
      `not done after ${limitMinutes} minutes, so ended: a test file that is not listed above hangs`,
    );
  }
  const totals = totalsOf(JSON.parse(readFileSync(report, 'utf8')) as VitestReport);
  // An error outside of any test.
  return code !== 0 && totals.failed === 0 ? { ...totals, failed: 1 } : totals;
}

/** Runs `work` and notes how long it took; what it throws is printed and counts as a failed part. */
async function part<T>(
  parts: Part[],
  name: string,
  work: () => Promise<T>,
  isGood: (result: T) => boolean = () => true,
): Promise<T | undefined> {
  const start = performance.now();
  try {
    const result = await work();
    parts.push({ name, isGood: isGood(result), seconds: (performance.now() - start) / 1000 });
    return result;
  } catch (error) {
    if (!stoppedBy) console.error(`${name}: ${messageOf(error)}`);
    parts.push({ name, isGood: false, seconds: (performance.now() - start) / 1000 });
    return undefined;
  }
}

async function checks(): Promise<boolean> {
  const result = await runPart('check', ['node', 'scripts/check.ts'], (child) => children.add(child));
  console.log(`\n${result.output.trim()}\n`);
  return result.isGood;
}

async function main(): Promise<number> {
  const parts: Part[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'headworks-tests-'));
  await chmod(folder, 0o755); // some tests switch to another user, who must have access
  const temporary = join(folder, 'temporary');
  await mkdir(temporary);
  let totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  const checked = isWhole ? part(parts, 'check', checks, (isGood) => isGood) : undefined;
  const services = isUnitOnly
    ? noServices
    : await part(parts, 'services', () => openServices(process.env, 'owned'));
  try {
    if (services) {
      if (services.summary) console.log(`services: ${services.summary}`);
      const run = () => runTests(services, join(folder, 'report.json'), temporary);
      totals = (await part(parts, 'tests', run, ({ failed }) => failed === 0)) ?? totals;
    }
    await checked;
  } finally {
    await services?.close();
    await clearAway(folder, temporary, totals.failed > 0 && stoppedBy === undefined);
  }
  if (stoppedBy === undefined) return summarize(parts, totals);
  console.error(`stopped by ${stoppedBy}; everything is taken down`);
  return exitCodeOf(stoppedBy);
}

/** Deletes what tests left behind; after a failure the report and the folders of failed tests are kept. */
async function clearAway(folder: string, temporary: string, isKept: boolean): Promise<void> {
  if (!isKept) return rm(folder, { recursive: true, force: true });
  const left = (await readdir(temporary)).filter((name) => name.startsWith('headworks-test-'));
  console.log(`\nKept in ${folder}: the report, and ${counted(left.length, 'folder')} of tests that failed`);
}

function summarize(parts: readonly Part[], totals: Totals): number {
  console.log('');
  for (const each of parts) console.log(partLine(each));
  if (isUnitOnly) console.log('not run: check, services, integration, e2e and browser tests');
  else if (!isWhole) console.log('not run: check, tests that do not match');
  if (totals.skipped > 0 && !args.includes('-t'))
    console.log(
      `${totals.skipped} tests were skipped: they kill or restart servers of their own, which can be had on Debian, ` +
        'or with postgres, initdb and redis-server on the PATH.',
    );
  // A failing test fails the part `tests` too; it is counted as a test.
  const failedParts = parts.filter(
    ({ name, isGood }) => !isGood && (name !== 'tests' || totals.failed === 0),
  );
  console.log(lastLine(totals, failedParts.length));
  return parts.every(({ isGood }) => isGood) ? 0 : 1;
}

// After a signal, main stops what was started, or else the watchdog does.
const forcedExit = interrupted.then(() => sleep(15_000, 1, { ref: false }));
const code = await Promise.race([main(), forcedExit]);
process.exit(code);
