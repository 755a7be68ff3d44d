// headworks eval: how good search and entities are, on public data that you bring.
import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { EvaluationReport, EvaluationWish } from '../../app/evaluate.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { startProgress } from '../progress.ts';
import type { CliSession } from '../session.ts';

interface EvalOptions {
  readonly data: string;
  readonly calibrate?: boolean;
}

export function registerEval(program: Command, host: CommandHost): void {
  const group = program
    .command('eval')
    .description('measure search and entities on data that you bring; nothing of it is kept');
  examples(group, [
    'headworks eval beir --data scifact/',
    'headworks eval multihop --data hotpot.jsonl --json',
  ]);
  const beir = group
    .command('beir')
    .description(
      'search, on a collection in the layout of BEIR (corpus.jsonl, queries.jsonl, qrels/test.tsv), or on Cranfield as it is distributed (cran.all.1400, cran.qry, cranqrel)',
    )
    .option('--calibrate', 'also find the weight with which the embedder serves best');
  register(host, beir, 'beir', [
    'headworks eval beir --data scifact/',
    'headworks eval beir --data cranfield/ --json',
    'EMBEDDER=local headworks eval beir --data scifact/ --calibrate',
  ]);
  const multihop = group
    .command('multihop')
    .description('search for several paragraphs at once, on questions in the layout of HotpotQA');
  register(host, multihop, 'multihop', ['headworks eval multihop --data hotpot.jsonl']);
  const entities = group
    .command('entities')
    .description(
      'names and duplicates: CSV records whose rec_id tells which belong together, and generated names',
    );
  register(host, entities, 'entities', [
    'headworks eval entities --data febrl/',
    'headworks eval entities --data people.csv --json',
  ]);
  const nur = group
    .command('nur')
    .description('all of knowledge without a model, on a corpus with known entities, events and connections');
  register(host, nur, 'nur', ['headworks eval nur --data bench/', 'headworks eval nur --data bench/ --json']);
}

function register(
  host: CommandHost,
  command: Command,
  kind: EvaluationWish['kind'],
  lines: readonly string[],
): void {
  command.requiredOption('--data <path>', 'where the data is');
  examples(command, lines);
  act<EvalOptions>(host, command, (session, options) => run(session, kind, options));
}

async function run(
  session: CliSession,
  kind: EvaluationWish['kind'],
  { data, calibrate = false }: EvalOptions,
): Promise<ExitCode> {
  const { io, out } = session;
  const config = session.config();
  const { evaluate } = await import('../../app/evaluate.ts');
  const progress = startProgress(session, `eval ${kind}`);
  let report: EvaluationReport;
  try {
    report = await evaluate(
      config,
      { kind, data: resolve(io.cwd, data), isCalibrating: calibrate },
      {
        env: io.env,
        signal: io.signal,
        onProgress: (message, done, total) => {
          if (done === total || done % Math.ceil(total / 20) === 0) progress.show({ message, done, total });
        },
      },
    );
  } finally {
    progress.end();
  }
  if (out.isJson) out.json(report.figures);
  else show(session, report);
  return exitCodes.ok;
}

function show({ out }: CliSession, { heading, columns, rows, notes }: EvaluationReport): void {
  out.line(heading);
  out.table(columns, rows);
  for (const note of notes) out.note(note);
}
