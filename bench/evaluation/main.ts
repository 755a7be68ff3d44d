// npm run eval -- KIND --data PATH [--calibrate] [--json]: measures search and entities on public data that you provide,
// in a temporary store. Configuration comes from the environment, as for the server.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { processEnvironment, resolveConfig } from '../../src/config/index.ts';
import { HeadworksError } from '../../src/core/index.ts';
import type { EvaluationReport } from './environment.ts';
import type { EvaluationRequest } from './evaluate.ts';
import { evaluate, evaluations } from './evaluate.ts';

const usage = `npm run eval -- KIND --data PATH [--calibrate] [--json]

  beir      search on a collection in BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv) or the original
            Cranfield files (cran.all.1400, cran.qry, cranqrel); --calibrate also finds the embedder's best weight
  multihop  search for several paragraphs at once, on questions in HotpotQA layout
  entities  entity resolution: CSV records whose rec_id shows which belong together, and generated names
  nur       all of knowledge without a model, on a corpus with known entities, events and connections`;

const isKind = (word: string | undefined): word is EvaluationRequest['kind'] =>
  word !== undefined && Object.hasOwn(evaluations, word);

function print({ heading, columns, rows, notes }: EvaluationReport): void {
  const lines = [columns, ...rows];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  console.log(heading);
  for (const line of lines)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  for (const note of notes) console.log(note);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      data: { type: 'string' },
      calibrate: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const [kind] = positionals;
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (!isKind(kind) || values.data === undefined) {
    console.error(usage);
    return 2;
  }
  const { env, cwd } = processEnvironment();
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const report = await evaluate(
    resolveConfig(processEnvironment()),
    { kind, data: resolve(cwd, values.data), isCalibrating: values.calibrate ?? false },
    {
      env,
      signal: stop.signal,
      onProgress: (what, done, total) => {
        if (done === total || done % Math.ceil(total / 20) === 0)
          process.stderr.write(`${what}: ${done} of ${total}\n`);
      },
    },
  );
  if (values.json) console.log(JSON.stringify(report.figures));
  else print(report);
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof HeadworksError ? `${error.code}: ${error.message}` : error);
  process.exitCode = 2;
}
